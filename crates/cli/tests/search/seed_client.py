"""A client of the index of skills that is written from seed 001, on the official client of the node.

It discovers skills by a vector, navigates to the children of a folder, and fetches one skill by its id. It knows the
mapping of the seed and nothing of Charter.

    seed_client.py Elasticsearch|OpenSearch URL INDEX < {"vector": […], "folder": "…", "leaf": "…"}
"""

import json
import sys

VECTOR = "skill_desc_vector"
#: What discovery and navigation return: neither the vector nor the instruction.
SHORT = ["skill_id", "summary", "is_folder", "sub_skills"]
MOST = 10


class OnElasticsearch:
    """The calls of `elasticsearch`."""

    def __init__(self, url, index):
        from elasticsearch import BadRequestError, Elasticsearch

        self.client, self.index, self.refused = Elasticsearch(url), index, BadRequestError

    def nearest(self, vector):
        knn = {"field": VECTOR, "query_vector": vector, "k": MOST, "num_candidates": 50}
        return self.client.search(index=self.index, knn=knn, source=SHORT)

    def search(self, query):
        return self.client.search(index=self.index, query=query, size=MOST)

    def get(self, skill):
        return self.client.get(index=self.index, id=skill)

    def get_all(self, skills):
        return self.client.mget(index=self.index, ids=skills, source=SHORT)


class OnOpenSearch:
    """The calls of `opensearch-py`."""

    def __init__(self, url, index):
        from opensearchpy import OpenSearch
        from opensearchpy.exceptions import RequestError

        self.client, self.index, self.refused = OpenSearch(url), index, RequestError

    def nearest(self, vector):
        query = {"knn": {VECTOR: {"vector": vector, "k": MOST}}}
        return self.client.search(index=self.index, body={"query": query, "size": MOST, "_source": SHORT})

    def search(self, query):
        return self.client.search(index=self.index, body={"query": query, "size": MOST})

    def get(self, skill):
        return self.client.get(index=self.index, id=skill)

    def get_all(self, skills):
        return self.client.mget(index=self.index, body={"ids": skills}, _source_includes=SHORT)


def searchable(node, field):
    """Whether a full-text query may name a field."""
    try:
        node.search({"match": {field: "guide"}})
    except node.refused:
        return False
    return True


def ids(answer):
    return [hit["_id"] for hit in answer["hits"]["hits"]]


def main():
    product, url, index = sys.argv[1:]
    asked = json.load(sys.stdin)
    node = {"Elasticsearch": OnElasticsearch, "OpenSearch": OnOpenSearch}[product](url, index)
    discovered = node.nearest(asked["vector"])
    children = node.get(asked["folder"])["_source"]["sub_skills"]
    found = {
        "discovered": ids(discovered),
        "discovered_fields": sorted({name for hit in discovered["hits"]["hits"] for name in hit["_source"]}),
        "children": [child["_source"] for child in node.get_all(children)["docs"]],
        "leaf": node.get(asked["leaf"])["_source"],
        "everything": sorted(ids(node.search({"match_all": {}}))),
        "by_id_field": ids(node.search({"term": {"skill_id": asked["leaf"]}})),
        "searchable": [field for field in ("instruction", "summary") if searchable(node, field)],
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
