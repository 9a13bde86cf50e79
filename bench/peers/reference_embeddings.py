"""Writes the reference embeddings that charter-embed is tested against.

The reference is sentence-transformers on torch (f32, CPU), one text at a time,
with the model's own limit of 256 tokens. Run it again only when the model or
the texts change:

    python bench/peers/reference_embeddings.py MODEL_DIR \
        crates/embed/tests/fixtures/reference_embeddings.json
"""

import base64
import hashlib
import json
import pathlib
import sys

import numpy
import sentence_transformers
import torch

TOKEN_LIMIT = 256

PARAGRAPH = (
    "A security group acts as a virtual firewall for your instances to control inbound and "
    "outbound traffic. Rules are evaluated together, the most permissive one wins, and a group "
    "without rules lets nothing in. Network access control lists are stateless and numbered; "
    "the first rule that matches decides. "
)

TEXTS = {
    "empty": "",
    "blank": " \t\n ",
    "one letter": "a",
    "full stop": ".",
    "one word": "firewall",
    "question": "Which of my security groups are open to the internet?",
    "statement": "The quick brown fox jumps over the lazy dog.",
    "upper case": "LIST ALL S3 BUCKETS WITH PUBLIC READ ACCESS",
    "skill summary": "Finds load balancers that accept traffic without TLS and reports their listeners.",
    "camel case": "describeSecurityGroupRules getBucketPolicyStatus ListAccessKeys",
    "snake case": "describe_network_acls.get_flow_logs__v2",
    "numbers": "0 1 23 456 7890 3.14159 -2.5e-10 1,000,000 0xDEADBEEF",
    "addresses": "10.0.0.0/8, 192.168.1.254:8443, ::1, fe80::1%eth0, 0.0.0.0/0",
    "url": "https://example.com/a/b?c=d&e=%20f#fragment",
    "mail and ids": "ops+alerts@example.org sg-0a1b2c3d4e5f arn:aws:iam::123456789012:role/Admin",
    "punctuation": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "repeated punctuation": "wait... what?!?! --- no — yes – maybe…",
    "quotes": "“curly” ‘single’ «angled» \"plain\" 'plain'",
    "german": "Welche Sicherheitsgruppen sind aus dem Internet erreichbar? Größe, Maß, Übergröße.",
    "french": "Où sont les clés d’accès périmées de l’équipe ? Ça déjà été vérifié à Noël.",
    "turkish": "İstanbul'da ışık ılık; DİKKAT: güvenlik duvarı",
    "polish": "Zażółć gęślą jaźń, żółwie i źrebięta.",
    "combining marks": "e\u0301le\u0300ve nai\u0308ve co\u0302te\u0301 a\u0323\u0302",
    "greek": "Η γρήγορη καφέ αλεπού πηδά πάνω από το τεμπέλικο σκυλί.",
    "russian": "Какие группы безопасности открыты для интернета?",
    "arabic": "ما هي مجموعات الأمان المفتوحة على الإنترنت؟",
    "hebrew": "אילו קבוצות אבטחה פתוחות לאינטרנט?",
    "hindi": "कौन से सुरक्षा समूह इंटरनेट के लिए खुले हैं?",
    "thai": "กลุ่มความปลอดภัยใดเปิดสู่อินเทอร์เน็ต",
    "chinese": "哪些安全组对互联网开放?请列出所有端口。",
    "japanese": "どのセキュリティグループがインターネットに公開されていますか？",
    "korean": "어떤 보안 그룹이 인터넷에 열려 있습니까?",
    "emoji": "🔥 prod is down 🚨🚨 please help 🙏🏽 👩‍💻 🇩🇪",
    "full width and ligatures": "ＦＵＬＬ　ｗｉｄｔｈ ﬁne ﬂow ½ ² ™ Ⅷ",
    "control characters": "tab\there\u0000null\u200bzero width\ufeffmark\u00adsoft\r\nline",
    "special tokens in text": "[CLS] ignore [SEP] the [MASK] and [PAD] [UNK]",
    "very long word": "x" * 150 + " and " + "antidisestablishmentarianism" * 3,
    "rust": "pub fn open(path: &Path) -> Result<File, Error> { File::open(path).map_err(Error::from) }",
    "json": '{"IpPermissions": [{"FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]}',
    "sql": "SELECT id, name FROM users u LEFT JOIN roles r ON r.user_id = u.id WHERE r.name IS NULL;",
    "markdown": "# Title\n\n- item *one*\n- item **two**\n\n```sh\naws ec2 describe-instances --output json\n```\n",
    "one paragraph": PARAGRAPH,
    "two paragraphs": PARAGRAPH + "\n\n" + PARAGRAPH,
    "just over the limit": PARAGRAPH * 5,
    "far over the limit": PARAGRAPH * 20,
    "long chinese": "安全组是一种虚拟防火墙，用于控制实例的入站和出站流量。" * 12,
}


def main() -> None:
    directory, target = (pathlib.Path(argument) for argument in sys.argv[1:3])
    torch.set_num_threads(1)
    model = sentence_transformers.SentenceTransformer(str(directory), device="cpu")
    model.max_seq_length = TOKEN_LIMIT
    cases = []
    for name, text in TEXTS.items():
        vector = model.encode([text], batch_size=1, normalize_embeddings=True)[0]
        vector = numpy.asarray(vector, dtype="<f4")
        assert vector.shape == (384,) and numpy.isfinite(vector).all(), name
        cases.append(
            {
                "name": name,
                "text": text,
                "embedding": base64.b64encode(vector.tobytes()).decode("ascii"),
            }
        )
    weights = (directory / "model.safetensors").read_bytes()
    fixture = {
        "about": "Made by bench/peers/reference_embeddings.py; base64 of 384 little-endian f32.",
        "implementation": f"sentence-transformers {sentence_transformers.__version__}, "
        f"torch {torch.__version__}",
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "token_limit": TOKEN_LIMIT,
        "cases": cases,
    }
    target.write_text(json.dumps(fixture, indent=1, ensure_ascii=True) + "\n", encoding="ascii")
    print(f"{len(cases)} embeddings written to {target}")


if __name__ == "__main__":
    main()
