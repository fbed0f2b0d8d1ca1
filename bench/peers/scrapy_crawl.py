"""Crawls every site of a list with Scrapy: SEEDS-FILE CONCURRENCY PAUSE-SECONDS [CACHE-FOLDER].

Each page's links are followed within its host and its title is taken; with a folder, pages are kept there and asked
for again by their validators. Settings are those that Scrapy's documentation gives for broad crawls.
"""

import sys
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

SEEDS, CONCURRENCY, PAUSE = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
CACHE = sys.argv[4] if len(sys.argv) > 4 else None


class Sites(scrapy.Spider):
    name = "sites"
    links = LinkExtractor(tags=("a",), unique=True)

    async def start(self):
        with open(SEEDS) as seeds:
            for seed in seeds:
                yield scrapy.Request(seed.strip())

    def parse(self, response):
        response.css("title::text").get()
        host = urlsplit(response.url).netloc
        for link in self.links.extract_links(response):
            if urlsplit(link.url).netloc == host:
                yield scrapy.Request(link.url)


settings = {
    "CONCURRENT_REQUESTS": CONCURRENCY,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1 if PAUSE else CONCURRENCY,
    "CONCURRENT_ITEMS": 8,
    "DOWNLOAD_DELAY": PAUSE,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "LOG_ENABLED": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "AJAXCRAWL_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "ROBOTSTXT_OBEY": PAUSE > 0,
}
if CACHE:
    settings |= {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": CACHE,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        # Without this the cache would answer by itself and not ask at all.
        "DEFAULT_REQUEST_HEADERS": {"Cache-Control": "max-age=0"},
    }
process = CrawlerProcess(settings)
process.crawl(Sites)
process.start()
