import type { Evidence, Finding } from '../../contract/diagnosis.ts'
import { type DatabaseSecrets, databaseSecretName } from '../../domain/databases/credentials.ts'
import type { Environment, Settings } from '../../domain/environments/environment.ts'
import { createMask } from '../../domain/environments/secret-masker.ts'
import type { Context } from '../core/handler.ts'

const mostEvidence = 3

/** Findings without secret values: a line was masked when it was kept, with the secrets of that time only. */
export function maskFindings(
  context: Context,
  environment: Environment,
  settings: readonly Settings[],
  findings: readonly Finding[],
): Finding[] {
  const mask = maskOf(context, environment, settings)
  const masked = ({ text, ...rest }: Evidence): Evidence =>
    text === undefined ? rest : { ...rest, text: mask(text) }
  return findings.map((one) => ({ ...one, evidence: one.evidence.slice(0, mostEvidence).map(masked) }))
}

/** Removes the secrets of these settings, and those of a database, from a text. */
export function maskOf(
  { secrets }: Context,
  { appEnvId, database }: Environment,
  settings: readonly Settings[],
): (text: string) => string {
  const values = settings
    .flatMap(({ envVars }) => envVars)
    .filter(({ isSecret }) => isSecret)
    .map(({ name, value }) => secrets.open(value, `${appEnvId}/${name}`))
  if (database) {
    const opened: DatabaseSecrets = JSON.parse(secrets.open(database.secrets, databaseSecretName(appEnvId)))
    values.push(opened.password, opened.adminPassword)
  }
  return createMask(values)
}
