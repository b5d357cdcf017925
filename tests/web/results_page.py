"""DuckDuckGo's page of results, in the form it has for browsers without scripts."""

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from tests.fakes.web_server import Answer, page


def results_page(hits: Sequence[tuple[str, str, str]]) -> Answer:
    """A page of (title, address, snippet), with an advertisement at its top."""
    blocks = [
        '<div class="result results_links result--ad"><a class="result__a"'
        ' href="https://duckduckgo.com/y.js?ad_domain=buy.example">Buy</a></div>'
    ]
    blocks += [
        '<div class="result results_links results_links_deep web-result"><div class="links_main">'
        f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg='
        f'{quote(url, safe="")}&amp;rut=abc">{escape(title)}</a></h2>'
        f'<a class="result__snippet" href="x">{snippet}</a></div></div>'
        for title, url, snippet in hits
    ]
    return page(f'<html><body><div id="links">{"".join(blocks)}</div></body></html>')


NOTHING = page('<html><body><div class="no-results">No results.</div></body></html>')
ROBOT = page('<html><body><div class="anomaly-modal__title">Select all ducks</div></body></html>')
