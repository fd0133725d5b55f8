import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { expect, it } from 'vitest'
import { diagnosisCauses, type Finding } from '../../../src/contract/diagnosis.ts'
import { withinBudget } from '../../../src/domain/diagnosis/budget.ts'
import { catalog } from '../../../src/domain/diagnosis/catalog.ts'
import { Seeded } from '../../../testkit/diagnosis/seeded.ts'

const seeded = new Seeded(Number(process.env.TEST_SEED ?? 11))
const at = '2026-05-01T10:11:12.345Z'

function randomText(alphabet: string): string {
  const characters = [...alphabet]
  return Array.from({ length: 160 }, () => seeded.pick(characters)).join('')
}

/** The kinds of text that programs print: sentences, keys, other scripts, symbols. */
const texts = [
  () =>
    'Error: connect ECONNREFUSED 10.0.0.12:5432 while the worker read its queue again and again'.repeat(2),
  () => randomText('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'),
  () => randomText('0123456789abcdef'),
  () => randomText('日本語のエラーが発生しました接続'),
  () => randomText('ошибкасоединения '),
  () => randomText('!@#$%^&*()_+{}|:"<>?~`-=[]\\;,./'),
  () => randomText('😀🎉🚀🔥'),
]

it('G4 a finding costs a model at most 300 tokens, whatever its evidence quotes', () => {
  for (const cause of diagnosisCauses) {
    for (const text of texts) {
      const input = { appEnvId: 'env_k3j4h5k6j7h8m2n4', version: 1234 }
      const effects = ['Deploys version 1234 with the saved settings, without downtime.']
      const finding: Finding = {
        cause,
        severity: 'critical',
        confidence: 'certain',
        summary: `Containers of version 1235 ended 140 times: ${catalog[cause].meaning}`,
        since: at,
        evidence: [
          { source: 'container', at, text: 'shop-prod-a8d7f6e5d4: exit code 137 (OOMKilled)' },
          { source: 'log', at, text: text() },
          { source: 'request', at, text: text() },
        ],
        fix: { operation: 'redeploy-app-env', input, effects, safe: true },
      }
      const shown = withinBudget(finding)
      expect(encode(JSON.stringify(shown)).length, JSON.stringify(shown)).toBeLessThanOrEqual(300)
      expect(shown.evidence[0]).toEqual(finding.evidence[0])
      expect(shown).toMatchObject({ cause, summary: finding.summary, fix: finding.fix })
    }
  }
})
