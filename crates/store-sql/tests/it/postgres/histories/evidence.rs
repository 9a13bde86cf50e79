//! Histories of evidence and its log.

use charter_contract::catalogue::evidence::Attachment;
use charter_store::Store;
use charter_store::evidence::EvidenceFilter;
use charter_store::page::PageRequest;
use charter_testkit::store_suite::sample;
use proptest_derive::Arbitrary;

use super::{Done, Few, Second, Several, Tenant, at, hold, told};

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    Put(Tenant, Several, Second),
    Attach(Tenant, Several, Few),
    Find(Tenant, Option<Few>, Second, Few),
    RemovePayloads(Second),
}

fn finding(Few(n): Few) -> Done<Attachment> {
    sample::finding(&format!("f{n}"))
}

impl super::Call for Call {
    async fn answer(self, store: &dyn Store) -> Done<String> {
        Ok(match self {
            Self::Put(tenant, Several(n), captured) => {
                let record = sample::evidence(tenant.name(), n.into(), captured.at()?)?;
                let tenant = tenant.id()?;
                let put = told(store.put_evidence(&tenant, &[record]).await);
                put + &told(store.log_size(&tenant).await)
            }
            Self::Attach(tenant, Several(n), to) => {
                let record = sample::evidence(tenant.name(), n.into(), at(0)?)?.id;
                let (tenant, finding) = (tenant.id()?, finding(to)?);
                let attached = store.attach_evidence(&tenant, &record, &finding, at(3)?);
                let attached = told(attached.await);
                attached + &told(store.log_size(&tenant).await)
            }
            Self::Find(tenant, attached_to, from, Few(limit)) => {
                let filter = EvidenceFilter {
                    attached_to: attached_to.map(finding).transpose()?,
                    captured_from: Some(from.at()?),
                    ..EvidenceFilter::default()
                };
                let page = PageRequest::new(None, usize::from(limit) + 1);
                let tenant = tenant.id()?;
                let found = told(store.find_evidence(&tenant, &filter, &page).await);
                found + &told(store.list_evidence(&tenant, &filter, &page).await)
            }
            Self::RemovePayloads(before) => {
                told(store.remove_payloads(before.at()?, at(9)?, 1).await)
            }
        })
    }
}

#[test]
fn evidence_has_the_same_history_on_both_engines() {
    hold::<Call>(8);
}
