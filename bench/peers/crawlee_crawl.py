"""Crawls every site of a list with Crawlee: SEEDS-FILE CONCURRENCY.

Each page's links are followed within its host and its title is taken; queues are kept in memory, retries are off.
"""

import asyncio
import logging
import sys

from crawlee import ConcurrencySettings, service_locator
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.storage_clients import MemoryStorageClient

SEEDS, CONCURRENCY = sys.argv[1], int(sys.argv[2])


async def main():
    service_locator.set_storage_client(MemoryStorageClient())
    limits = ConcurrencySettings(
        min_concurrency=CONCURRENCY, desired_concurrency=CONCURRENCY, max_concurrency=CONCURRENCY
    )
    crawler = ParselCrawler(
        http_client=ImpitHttpClient(verify=False),
        concurrency_settings=limits,
        max_request_retries=0,
        use_session_pool=False,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def page(context: ParselCrawlingContext) -> None:
        context.selector.css("title::text").get()
        await context.enqueue_links(strategy="same-hostname")

    with open(SEEDS) as seeds:
        await crawler.run([seed.strip() for seed in seeds])


logging.disable(logging.CRITICAL)
asyncio.run(main())
