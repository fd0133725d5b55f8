import { AcmeClient } from '../../acme/client.ts'
import { acmeSend } from '../../acme/send.ts'
import { sleep, timestamp } from '../../clock.ts'
import type { ProofPlaces } from '../../domains/issue.ts'
import { createLookup } from '../../domains/lookup.ts'
import { TxtRecords } from '../../domains/txt-records.ts'
import { DomainWorker } from '../../domains/worker.ts'
import { destinationOf } from '../../operations/domains/responses.ts'
import type { Db } from '../../store/db.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { deleteChallenges, saveChallenge } from '../../store/repositories/challenges.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { installationOf, type Started, wakeEnvironments } from '../installation.ts'
import type { Platform } from '../platform.ts'

/** The other gateways poll every second. */
const othersMs = 2_500

/** Checks domains and orders their certificates, in one control plane of the installation. */
export function orderCertificates(platform: Platform, started: Started): void {
  const { membership, config, clock, log, secrets } = platform
  const { acme, dnsServers } = config
  const send = acme && acmeSend({ caFile: acme.caFile, clock })
  const client = acme && send && new AcmeClient({ url: acme.url, email: acme.email, clock, send })
  membership.lease('domains', (db) => {
    const worker = new DomainWorker({
      ...{ db, secrets, clock, log, lookup: createLookup(dnsServers) },
      acme: acme && client && { client, url: acme.url, profile: acme.profile },
      proofs: proofPlaces(platform, started, db),
      destinationOf: (appEnvId) => storedDestinationOf(platform, started, appEnvId),
      wake(appEnvIds) {
        wakeEnvironments(started, appEnvIds)
        membership.announce(appEnvIds)
        void started.gateway?.certificates.refresh().catch(() => {})
      },
    })
    worker.start()
    return worker
  })
}

function proofPlaces({ clock, config, membership }: Platform, started: Started, db: Db): ProofPlaces {
  const records = new TxtRecords(config.dnsHook, config.dnsServers, clock)
  const publish = async () => {
    await started.gateway?.certificates.refresh()
    if (membership.isShared) await sleep(clock, othersMs)
  }
  return {
    async show(challenge) {
      await db.write((tx) => saveChallenge(tx, challenge, timestamp(clock.wallMs())))
      await publish()
    },
    setTxtRecord: (domain, value) => records.set(domain, value),
    async clear(domain) {
      await records.clear(domain)
      await db.write((tx) => deleteChallenges(tx, domain)).catch(() => {})
    },
  }
}

async function storedDestinationOf(platform: Platform, started: Started, appEnvId: string) {
  const found = await platform.db.read(async (tx) => {
    const environment = await findEnvironment(tx, { appEnvId })
    const stored = environment && (await findApp(tx, environment.appId))
    return stored && { environment, app: stored.app }
  })
  if (!found) return null
  return destinationOf(installationOf(platform, started), found)
}
