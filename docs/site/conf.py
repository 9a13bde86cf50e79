"""How Sphinx makes the site: Markdown as a code host reads it, one theme, nothing from elsewhere."""

project = "Charter"
author = "Charter's authors"
copyright = "Charter's authors, Apache-2.0"
root_doc = "index"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["files/**"]

myst_heading_anchors = 6
myst_links_external_new_tab = False
nitpicky = True
# `…` for what is left out is no Rust: such a block is coloured as far as it goes.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "Charter"
html_favicon = "_static/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}

pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
highlight_language = "text"
