import type { Domain } from '../../contract/domains.ts'
import { type Destination, destination } from '../../domain/domains/dns.ts'
import { domainShown, type StoredDomain } from '../../domain/domains/domain.ts'
import { normalDomain } from '../../domain/domains/name.ts'
import { AppError } from '../../errors.ts'
import { findDomain } from '../../store/repositories/domains.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Change, Context } from '../core/handler.ts'

/** The domain of this environment; that of another one looks like an unknown one. */
export async function requireDomain(
  { tx }: Context,
  { environment }: EnvironmentTarget,
  given: string,
): Promise<StoredDomain> {
  const found = await findDomain(tx, normalDomain(given))
  if (found?.appEnvId === environment.appEnvId) return found
  throw new AppError('not-found', 'Domain not found', {
    details: 'list-app-env-domains shows the domains of this environment.',
  })
}

/** Without certificate chain and key, which audit entries do not need. */
export function domainChange(before: StoredDomain | null, after: StoredDomain | null): Change {
  const { domainId, accountId } = (after ?? before) as StoredDomain
  const shown = (one: StoredDomain | null): Domain | null => one && domainShown(one)
  return { objectType: 'domain', objectId: domainId, accountId, before: shown(before), after: shown(after) }
}

/** Where the DNS of a domain has to lead, as far as it is known without asking the DNS. */
export function destinationOf(
  installation: Context['installation'],
  { environment, app }: Pick<EnvironmentTarget, 'environment' | 'app'>,
): Destination {
  const [own] = installation.hosts(environment, app)
  return destination(own?.host, installation.publicUrl(), installation.domains.addresses)
}
