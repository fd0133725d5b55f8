import type { Environment, Settings } from '../../domain/environments/environment.ts'
import { createMask, type Mask } from '../../domain/environments/secret-masker.ts'
import { secretValues } from '../../store/secrets/opened.ts'
import type { AfterRead, Context } from '../core/handler.ts'

/**
 * Hides secret values in text that a diagnosis quotes: a line was masked when it was kept, with the secrets of that
 * time only. Mask before anything is cut: the beginning of a secret at a cut is not recognized.
 */
export async function evidenceMask(
  { secrets }: Context,
  after: AfterRead,
  environment: Environment,
  settings: readonly Settings[],
): Promise<Mask> {
  // 64 KiB of secrets take tens of milliseconds.
  await after.pause()
  const variables = settings.flatMap(({ envVars }) => envVars)
  return createMask(secretValues(secrets, environment, variables))
}
