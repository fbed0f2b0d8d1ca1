//! The profiles in force, one a spider, and the ways their connections are made.
//!
//! A *way* is everything that decides to whom a connection speaks and as whom: proxy, credentials,
//! client certificates, HTTP/2. Connections rest in the pool under their way's number and are used again
//! only by profiles of the same way: an answer meant for one login, or one side of a proxy, must never
//! reach a spider that has another. Each way has a TLS set-up of its own, so that no session is resumed
//! across ways either. Numbers are never given twice.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use model::SpiderId;

use super::{
    HttpOptions, HttpSetupError,
    profile::{Credential, HttpProfile},
    proxy::Proxy,
    request::RequestForm,
    tls::{Identity, TlsDoor, TlsGround},
};

pub struct Profiles {
    default: Arc<Profile>,
    own: RwLock<HashMap<SpiderId, Arc<Profile>>>,
    ground: TlsGround,
    next: AtomicU64,
}

pub struct Profile {
    pub form: RequestForm,
    pub way: Arc<Way>,
}

pub struct Way {
    pub number: u64,
    pub tls: TlsDoor,
    terms: Terms,
}

#[derive(PartialEq)]
struct Terms {
    proxy: Option<Proxy>,
    credentials: Vec<Credential>,
    /// By what is in them: a certificate renewed in place makes another way.
    identities: Vec<Identity>,
    http2: bool,
}

impl Profiles {
    pub fn new(options: &HttpOptions) -> Result<Profiles, HttpSetupError> {
        let ground = TlsGround::new(&options.extra_roots, options.accept_invalid_certificates)?;
        let terms = Terms::read(&options.profile)?;
        let way = Arc::new(Way::new(0, terms, &ground)?);
        let default = Arc::new(Profile { form: RequestForm::new(&options.profile)?, way });
        Ok(Profiles { default, own: RwLock::default(), ground, next: AtomicU64::new(1) })
    }

    pub fn of(&self, spider: SpiderId) -> Arc<Profile> {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        own.get(&spider).unwrap_or(&self.default).clone()
    }

    /// Returns the number of the way that nobody goes any more, if there is one. Visits under way keep
    /// the profile they began with.
    pub fn set(
        &self,
        spider: SpiderId,
        profile: &HttpProfile,
    ) -> Result<Option<u64>, HttpSetupError> {
        let form = RequestForm::new(profile)?;
        let terms = Terms::read(profile)?;
        let mut own = self.own.write().unwrap_or_else(PoisonError::into_inner);
        let alike = own
            .values()
            .chain([&self.default])
            .find_map(|known| (known.way.terms == terms).then(|| known.way.clone()));
        let way = match alike {
            Some(way) => way,
            None => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                Arc::new(Way::new(number, terms, &self.ground)?)
            }
        };
        let old = own.insert(spider, Arc::new(Profile { form, way }));
        Ok(self.abandoned(&own, old))
    }

    pub fn remove(&self, spider: SpiderId) -> Option<u64> {
        let mut own = self.own.write().unwrap_or_else(PoisonError::into_inner);
        let old = own.remove(&spider);
        self.abandoned(&own, old)
    }

    fn abandoned(
        &self,
        own: &HashMap<SpiderId, Arc<Profile>>,
        old: Option<Arc<Profile>>,
    ) -> Option<u64> {
        let number = old?.way.number;
        let mut used = own.values().map(|profile| profile.way.number);
        let unused = number != self.default.way.number && !used.any(|used| used == number);
        unused.then_some(number)
    }
}

impl Way {
    fn new(number: u64, terms: Terms, ground: &TlsGround) -> Result<Way, HttpSetupError> {
        let tls = ground.door(&terms.identities, terms.http2)?;
        Ok(Way { number, tls, terms })
    }

    pub fn proxy(&self) -> Option<&Proxy> {
        self.terms.proxy.as_ref()
    }
}

impl Terms {
    fn read(profile: &HttpProfile) -> Result<Terms, HttpSetupError> {
        let identities = profile.client_certificates.iter().map(Identity::read);
        Ok(Terms {
            proxy: profile.proxy.clone(),
            credentials: profile.credentials.clone(),
            identities: identities.collect::<Result<_, _>>()?,
            http2: profile.http2,
        })
    }
}
