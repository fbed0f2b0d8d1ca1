//! The simulated web as a program: start it, say how to crawl it, serve until stopped.

use std::{fmt::Write, io, path::PathBuf, sync::Arc};

use crate::{
    LogOptions, Server, ServerOptions, SimWeb, WebOptions,
    server::{faster_time, real_time},
};

#[derive(Clone, Debug)]
pub struct ServeOptions {
    pub web: WebOptions,
    /// 0: any free one.
    pub port: u16,
    pub tls: bool,
    pub tls_port: u16,
    /// Append every request here as a line of JSON.
    pub log_file: Option<PathBuf>,
    /// Count requests but keep no entries: for measurements.
    pub counters_only: bool,
    /// How many times faster than real the web's own time runs.
    pub speed: f64,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            web: WebOptions::default(),
            port: 8480,
            tls: false,
            tls_port: 0,
            log_file: None,
            counters_only: false,
            speed: 1.0,
        }
    }
}

/// Starts the web that the options describe.
pub async fn serve(options: ServeOptions) -> io::Result<(Server, Arc<SimWeb>)> {
    let web = Arc::new(SimWeb::new(options.web));
    let log = LogOptions {
        entries: !options.counters_only,
        file: options.log_file,
        ..LogOptions::default()
    };
    let now = match options.speed == 1.0 {
        true => real_time(),
        false => faster_time(real_time()(), options.speed),
    };
    let options = ServerOptions {
        port: options.port,
        tls: options.tls,
        tls_port: options.tls_port,
        now,
        log,
        ..ServerOptions::default()
    };
    Ok((Server::start(Arc::clone(&web), options).await?, web))
}

/// Serves until Ctrl-C; says first how to crawl it.
pub async fn serve_forever(options: ServeOptions) -> io::Result<()> {
    let (server, web) = serve(options).await?;
    print!("{}", instructions(&server, &web));
    tokio::signal::ctrl_c().await?;
    let log = server.stop().await;
    let counts = log.counts();
    println!(
        "{} requests, {} pages ({} different), {} connections",
        counts.requests, counts.pages, counts.unique_pages, counts.connections
    );
    Ok(())
}

/// What to type to crawl a running server.
pub fn instructions(server: &Server, web: &SimWeb) -> String {
    let (port, suffix) = (server.addr().port(), &web.options().host_suffix);
    let pages: usize = (0..web.sites()).map(|site| web.pages(site)).sum();
    let mut text = format!("{} sites, {pages} pages, on port {port}\n", web.sites());
    let rules = resolve_rules(server, web);
    let shown = rules.iter().take(4).map(|rule| format!(" --resolve '{rule}'"));
    let more = if rules.len() > 4 { " …" } else { "" };
    let _ = writeln!(
        text,
        "crawl it:  harvestman crawl {}{}{more} --allow-address 127.0.0.0/8",
        web.home(0),
        shown.collect::<String>()
    );
    let _ = writeln!(
        text,
        "ask it:    curl --resolve control{suffix}:{port}:127.0.0.1 http://control{suffix}:{port}/counts",
    );
    text
}

/// `PATTERN=ADDRESS:PORT` for every name of the web; one pattern when all live on one address.
pub fn resolve_rules(server: &Server, web: &SimWeb) -> Vec<String> {
    let (plain, tls) = (server.addr().port(), server.tls_addr().map(|addr| addr.port()));
    let port = |site: usize| match tls {
        Some(tls) if web.is_https(site) => tls,
        _ => plain,
    };
    if web.addresses().len() == 1 && web.options().https_share == 0.0 {
        return vec![format!("*{}={}", web.options().host_suffix, server.addr())];
    }
    (0..web.sites())
        .filter_map(|site| {
            let host = web.host(site);
            Some(format!("{host}={}:{}", web.address(&host)?, port(site)))
        })
        .collect()
}
