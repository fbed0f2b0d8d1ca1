-- Hazards, measures, failures and keys have plainer names from here on.
UPDATE hazards SET hazard = 'broken-encoding' WHERE hazard = 'broken-coding';
UPDATE hazards SET hazard = 'depth-limit' WHERE hazard = 'deep-chain';
UPDATE hazards SET hazard = 'site-down' WHERE hazard = 'down-for-long';
UPDATE hazards SET hazard = 'unexpected-response' WHERE hazard = 'extra-answer';
UPDATE hazards SET hazard = 'server-error' WHERE hazard = 'failing-server';
UPDATE hazards SET hazard = 'unsupported-scheme' WHERE hazard = 'foreign-scheme';
UPDATE hazards SET hazard = 'private-address' WHERE hazard = 'internal-address';
UPDATE hazards SET hazard = 'dns-error' WHERE hazard = 'name-trouble';
UPDATE hazards SET hazard = 'unknown-host' WHERE hazard = 'name-unknown';
UPDATE hazards SET hazard = 'nested-encoding' WHERE hazard = 'nested-coding';
UPDATE hazards SET hazard = 'parser-crash' WHERE hazard = 'poisonous-page';
UPDATE hazards SET hazard = 'mirror-site' WHERE hazard = 'replica-site';
UPDATE hazards SET hazard = 'no-response' WHERE hazard = 'silent';
UPDATE hazards SET hazard = 'slow-response' WHERE hazard = 'slow-answer';
UPDATE hazards SET hazard = 'tls-error' WHERE hazard = 'tls-trouble';
UPDATE hazards SET measure = 'corrected' WHERE measure = 'mended';
UPDATE hazards SET measure = 'truncated' WHERE measure = 'cut';
UPDATE spiders SET settings = replace(settings, '"crawl.site_day_time":', '"crawl.site_time_per_day":');
UPDATE spiders SET settings = replace(settings, '"fetch.ratio_max":', '"fetch.compression_ratio_max":');
UPDATE spiders SET settings = replace(settings, '"gather.language":', '"parse.language":');
UPDATE spiders SET settings = replace(settings, '"gather.link_tags":', '"parse.link_tags":');
UPDATE spiders SET settings = replace(settings, '"gather.log_tags":', '"parse.log_tags":');
UPDATE spiders SET settings = replace(settings, '"gather.text":', '"parse.text":');
UPDATE spiders SET settings = replace(settings, '"gather.threads":', '"parse.threads":');
UPDATE spiders SET settings = replace(settings, '"harvester.sites_in_hand":', '"crawl.active_sites":');
UPDATE spiders SET settings = replace(settings, '"hazards.counter":', '"hazards.counter_pages":');
UPDATE spiders SET settings = replace(settings, '"hazards.replicas":', '"hazards.mirrors":');
UPDATE spiders SET settings = replace(settings, '"hazards.replicas_again":', '"hazards.mirrors_recheck":');
UPDATE spiders SET settings = replace(settings, '"revisit.fr_max":', '"revisit.frequency_cycles":');
UPDATE visits SET failure = CASE failure
    WHEN 'dns-unknown' THEN 'unknown-host'
    WHEN 'dns-trouble' THEN 'dns-error'
    WHEN 'connect-refused' THEN 'connection-refused'
    WHEN 'tls' THEN 'tls-error'
    WHEN 'proxy' THEN 'proxy-error'
    WHEN 'reset' THEN 'connection-reset'
    ELSE failure END WHERE failure IS NOT NULL;
