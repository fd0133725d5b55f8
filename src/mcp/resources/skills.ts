import { createHash } from 'node:crypto'
import { AppError } from '../../errors.ts'
import { type Guide, guides } from './guides.ts'

export const skillsExtension = 'io.modelcontextprotocol/skills'

/** A skill as clients of the extension see it. */
interface Skill {
  uri: string
  frontmatter: Record<string, string>
  resources: { uri: string; digest: string; size: number }[]
}

const skillsAt = 'skill://longshore/'

export function skillUri({ skill }: Pick<Guide, 'skill'>): string {
  return `${skillsAt}${skill}/SKILL.md`
}

/** The file of a skill in the Agent Skills format: the guide, with what an agent reads before it decides to load it. */
export function skillText(guide: Guide): string {
  const lines = Object.entries(frontmatterOf(guide)).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return `---\n${lines.join('\n')}\n---\n\n${guide.text}`
}

function frontmatterOf({ skill, description, when, tools }: Guide): Record<string, string> {
  return { name: skill, description: `${description} ${when}`, 'allowed-tools': tools.join(' ') }
}

function entryOf(guide: Guide): Skill {
  const uri = skillUri(guide)
  const { digest, size } = digestOf(guide)
  return { uri, frontmatter: frontmatterOf(guide), resources: [{ uri, digest, size }] }
}

export function digestOf(guide: Guide): { digest: string; size: number } {
  const bytes = Buffer.from(skillText(guide))
  return { digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, size: bytes.length }
}

export function listedSkills(): Skill[] {
  return guides.map(entryOf)
}

/** The guide of a skill's file; undefined for another address. */
export function guideOfSkill(uri: unknown): Guide | undefined {
  return guides.find((guide) => skillUri(guide) === uri)
}

/** Throws `not-found`. */
export function skillAt(uri: unknown): Skill {
  const guide = guideOfSkill(uri)
  if (guide !== undefined) return entryOf(guide)
  throw new AppError('not-found', 'Skill not found', {
    details: 'skills/list shows the skills of this server.',
  })
}
