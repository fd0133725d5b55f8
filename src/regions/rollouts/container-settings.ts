import type { Settings } from '../../domain/environments/environment.ts'
import type { ContainerSpec } from '../../engines/engine.ts'
import { openVariable } from '../../store/secrets/opened.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'

export function mountsOf({
  useVolume,
  mountPath,
}: Pick<Settings, 'useVolume' | 'mountPath'>): Pick<ContainerSpec, 'mounts'> {
  return useVolume && mountPath !== null ? { mounts: [{ volume: 'data', path: mountPath }] } : {}
}

/** Decrypted variables of one phase: DEPLOY or BUILD, and BOTH (2.2). */
export function variablesFor(
  phase: 'DEPLOY' | 'BUILD',
  settings: { envVars: readonly { name: string; value: string; type: string; isSecret: boolean }[] },
  appEnvId: string,
  secrets: SecretBox,
): Record<string, string> {
  const variables = settings.envVars.filter((variable) => variable.type === phase || variable.type === 'BOTH')
  return Object.fromEntries(
    variables.map((variable) => [variable.name, openVariable(secrets, appEnvId, variable)]),
  )
}
