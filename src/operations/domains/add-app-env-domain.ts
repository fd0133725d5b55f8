import { addAppEnvDomain } from '../../contract/domains.ts'
import type { InputOf } from '../../contract/operation.ts'
import { checkCertificate } from '../../domain/domains/certificate.ts'
import { expectedRecords } from '../../domain/domains/dns.ts'
import { domainShown, keyName, type StoredDomain, withUploaded } from '../../domain/domains/domain.ts'
import { normalDomain, refuseForeignNames } from '../../domain/domains/name.ts'
import { newId } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import { countDomainsOf, findDomain, insertDomain } from '../../store/repositories/domains.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'
import { destinationOf, domainChange } from './responses.ts'

const mostDomains = 1_000

export default handler(addAppEnvDomain, async (context, input, target) => {
  const { tx } = context
  const { appEnvId, cliEnvName } = target.environment
  const domain = normalDomain(input.domain)
  await refuseForeignNames(domain, context.installation.domains.ownNames())
  refuseUnserved(context, target)
  refuseChallenge(context, domain, input)
  await refuseTaken(context, appEnvId, domain)
  if ((await countDomainsOf(tx, appEnvId)) >= mostDomains) {
    throw new AppError('conflict', 'The environment has too many domains', {
      details: `At most ${mostDomains}. Remove one, or use a wildcard.`,
    })
  }
  const added = newDomain(context, target, { ...input, domain })
  await insertDomain(tx, added)
  const next = nextStep(context, added)
  return {
    answer: { message: `Domain ${domain} added. ${next}`, domain: domainShown(added) },
    change: domainChange(null, added),
    impact: { actions: ['create-object'] },
    effects: [`${cliEnvName} is also served under ${domain}.`, next],
    wake: [appEnvId],
  }
})

function nextStep({ installation }: Context, { certificate, dns }: StoredDomain): string {
  if (certificate) return 'It is served with the uploaded certificate.'
  const [record] = dns.expected
  const step = record
    ? `Set the DNS record ${record.type} ${record.name} to ${record.value}`
    : 'Set its DNS records to the addresses of this installation'
  return installation.domains.orders
    ? `${step}; the certificate is then ordered by itself.`
    : `${step}. This installation orders no certificates, because LONGSHORE_ACME_EMAIL is not set: upload one with upload-app-env-certificate, or have the setting added.`
}

function newDomain(
  context: Context,
  target: EnvironmentTarget,
  { domain, challenge, certificate, redirect, hsts }: InputOf<typeof addAppEnvDomain>,
): StoredDomain {
  const { now, secrets, installation } = context
  const { appEnvId, accountId } = target.environment
  const domainId = newId('dom')
  const added: StoredDomain = {
    ...{ domainId, domain, appEnvId, accountId, challenge, redirect, hsts },
    status: 'waiting-dns',
    dns: {
      expected: expectedRecords(domain, destinationOf(installation, target)),
      seen: [],
      checkedAt: null,
    },
    ...{ certificate: null, lastError: null, attempts: 0 },
    ...{ dueAt: now, createdAt: now, revision: 1 },
  }
  if (!certificate) return added
  const checked = checkCertificate(certificate, domain, Date.parse(now))
  const sealed = secrets.seal(certificate.key, keyName(domainId))
  return withUploaded(added, { certificate: checked, chain: certificate.chain }, sealed)
}

function refuseUnserved({ installation }: Context, { environment, app }: EnvironmentTarget): void {
  if (app.isJob || app.isDatabase) {
    throw new AppError('invalid', `The ${app.dockerPreset} preset serves no HTTP requests`, {
      details: 'Add the domain to an environment of an app or a function.',
    })
  }
  const region = installation.regions().find((one) => one.region === environment.region)
  if (region?.engine === 'kubernetes') {
    throw new AppError('invalid', 'Cluster regions do not take domains', {
      details: 'The ingress or Gateway of the cluster and its certificates serve further host names there.',
    })
  }
}

function refuseChallenge(
  { installation }: Context,
  domain: string,
  { challenge, certificate }: InputOf<typeof addAppEnvDomain>,
): void {
  if (certificate) return
  if (challenge === 'dns-01' && !installation.domains.setsTxtRecords) {
    throw new AppError('invalid', 'This installation cannot set TXT records', {
      details: 'dns-01 needs LONGSHORE_DNS_HOOK. Use http-01 or tls-alpn-01, or upload a certificate.',
    })
  }
  if (domain.startsWith('*.') && challenge !== 'dns-01') {
    throw new AppError('invalid', 'A wildcard needs the challenge dns-01', {
      details: 'Certificate authorities accept no other one for wildcards. Or upload a certificate.',
    })
  }
}

async function refuseTaken({ tx }: Context, appEnvId: string, domain: string): Promise<void> {
  const taken = await findDomain(tx, domain)
  if (!taken) return
  throw new AppError('conflict', `${domain} is already in use`, {
    details:
      taken.appEnvId === appEnvId
        ? 'This environment has it. verify-app-env-domain checks it again.'
        : 'It belongs to another environment of this installation, which has to remove it first.',
  })
}
