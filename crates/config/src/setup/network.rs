//! How each spider gets in: headers, proxy, credentials, certificates, cookies; and who resolves names.

use std::{fs::File, io::Read, path::Path, sync::Arc};

use harvester::{
    clock::RealClock,
    http::{
        AuthScheme, ClientCertificate, Credential, HttpFetcher, HttpOptions, HttpProfile,
        HttpSetupError, PresetCookie, cookies_file,
    },
    login::{LoginForm, SuccessSign},
};
use model::{CrawlUrl, Origin};

use crate::{
    Config, Cookies,
    access::{Authorization, Success},
    failure::Failure,
    setup::{header, parsed},
};

/// One byte more than a file of cookies may have, so that its reader can say that it is too long.
const COOKIES_BYTES_MAX: u64 = (16 << 20) + 1;

/// A spider's cookies: none, or kept while a site is in hand, beginning with these.
pub type CookieStock = Option<Arc<[PresetCookie]>>;

/// How the spider of this name shows itself and gets in.
pub fn profile(config: &Config, folder: &Path, name: &str) -> Result<HttpProfile, Failure> {
    let (etiquette, fetch) = (&config.etiquette, &config.fetch);
    let contact = etiquette.contact.clone();
    let proxy = fetch.proxy.as_deref();
    Ok(HttpProfile {
        user_agent: etiquette.user_agent_line(),
        accept_encoding: fetch.accept_encoding.join(", "),
        from: contact.filter(|contact| contact.contains('@') && !contact.contains(':')),
        headers: etiquette.headers.iter().map(|line| header(line)).collect(),
        proxy: proxy.map(|text| parsed(config, "fetch.proxy", text)).transpose()?,
        credentials: credentials(config, name)?,
        client_certificates: client_certificate(config, folder)?.into_iter().collect(),
        http2: fetch.http2,
        ..HttpProfile::default()
    })
}

/// The origins that the spider of this name shows credentials to.
pub fn known_at(config: &Config, name: &str) -> Vec<Origin> {
    let mine = config.credentials.iter();
    mine.filter(|credential| credential.spider.as_deref().is_none_or(|spider| spider == name))
        .map(|credential| credential.origin.clone())
        .collect()
}

fn credentials(config: &Config, name: &str) -> Result<Vec<Credential>, Failure> {
    let mine = config.credentials.iter();
    mine.filter(|credential| credential.spider.as_deref().is_none_or(|spider| spider == name))
        .map(|credential| {
            let scheme = match credential.authorization()? {
                Authorization::Basic { user, password } => AuthScheme::Basic { user, password },
                Authorization::Bearer(token) => AuthScheme::Bearer { token },
                Authorization::Header { name, value } => AuthScheme::Header { name, value },
            };
            Ok(Credential { origin: credential.origin.clone(), scheme })
        })
        .collect()
}

/// The forms that the spider of this name sends, with their secrets.
pub fn logins(config: &Config, name: &str) -> Result<Vec<LoginForm>, Failure> {
    let mine = config.logins.iter();
    mine.filter(|login| login.spider.as_deref().is_none_or(|spider| spider == name))
        .map(|login| {
            Ok(LoginForm {
                page: login.page.clone(),
                fields: login.values()?,
                form: login.form.clone(),
                action: login.action.clone(),
                success: match login.success.clone() {
                    Success::Cookie(name) => SuccessSign::Cookie(name),
                    Success::Text(text) => SuccessSign::Text(text),
                    Success::Redirect(start) => SuccessSign::RedirectTo(start),
                    Success::Status(status) => SuccessSign::Status(status),
                },
            })
        })
        .collect()
}

fn client_certificate(
    config: &Config,
    folder: &Path,
) -> Result<Option<ClientCertificate>, Failure> {
    let fetch = &config.fetch;
    let origins = &fetch.client_certificate_origins;
    match (&fetch.client_certificate, &fetch.client_key) {
        (Some(certificate), _) if origins.is_empty() => Err(config.refuse(
            "fetch.client_certificate",
            certificate,
            "every server that asks could see it",
            "say who may: fetch.client_certificate_origins = [\"https://example.org\"]",
        )),
        (Some(certificate), key) => Ok(Some(ClientCertificate {
            certificate: folder.join(certificate),
            // A PEM file may hold both.
            key: folder.join(key.as_ref().unwrap_or(certificate)),
            origins: origins
                .iter()
                .filter_map(|text| CrawlUrl::parse(text).ok())
                .map(|url| url.origin())
                .collect(),
        })),
        (None, Some(key)) => Err(config.refuse(
            "fetch.client_key",
            key,
            "a key without a certificate",
            "name the certificate with fetch.client_certificate",
        )),
        (None, None) => Ok(None),
    }
}

pub fn cookies(config: &Config, folder: &Path) -> Result<CookieStock, Failure> {
    let name = match &config.fetch.cookies {
        Cookies::Off => return Ok(None),
        Cookies::On => return Ok(Some(Arc::new([]))),
        Cookies::File(name) => name,
    };
    let refuse = |what: String| {
        let instead = "name a cookies.txt, or a JSON list of cookies, next to harvest.toml";
        config.refuse("fetch.cookies", name, what, instead)
    };
    let mut text = String::new();
    File::open(folder.join(name))
        .and_then(|file| file.take(COOKIES_BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| refuse(format!("it cannot be read: {error}")))?;
    let cookies = cookies_file::read(&text).map_err(|error| refuse(error.to_string()))?;
    Ok(Some(cookies.into()))
}

/// In the words of the key that is to blame.
pub fn failure(config: &Config, error: &HttpSetupError) -> Failure {
    let fetch = &config.fetch;
    let tls = |key: &str, value: &str| {
        config.refuse(key, value, error.to_string(), "name a PEM file that can be read")
    };
    match error {
        HttpSetupError::Tls(_) if fetch.extra_roots.is_empty() => {
            tls("fetch.client_certificate", fetch.client_certificate.as_deref().unwrap_or_default())
        }
        HttpSetupError::Tls(_) => tls("fetch.extra_roots", &fetch.extra_roots.join(", ")),
        HttpSetupError::Credential { .. } => {
            Failure::usage(error.to_string(), "mend its [[credential]] table in harvest.toml")
        }
        other => {
            let headers = config.etiquette.headers.join(", ");
            config.refuse("etiquette.headers", &headers, other.to_string(), "write Name: value")
        }
    }
}

/// What all spiders share of the fetcher can be made.
pub fn check(options: &HttpOptions, config: &Config) -> Result<(), Failure> {
    HttpFetcher::new(options, Arc::new(RealClock::new()))
        .map(drop)
        .map_err(|error| failure(config, &error))
}

/// The client certificate can be used.
pub fn certificate(config: &Config, folder: &Path) -> Result<(), Failure> {
    let certificates = client_certificate(config, folder)?.into_iter().collect();
    let profile = HttpProfile { client_certificates: certificates, ..HttpProfile::default() };
    check(&HttpOptions { profile, ..HttpOptions::default() }, &without_roots(config))
}

/// So that a certificate is not blamed on the roots.
fn without_roots(config: &Config) -> Config {
    let mut config = config.clone();
    config.fetch.extra_roots.clear();
    config
}
