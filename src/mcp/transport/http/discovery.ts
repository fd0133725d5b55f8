import { guides } from '../../resources/guides.ts'
import { digestOf, skillText } from '../../resources/skills.ts'
import { revision2026 } from '../era.ts'
import { protocolVersions } from '../server.ts'
import { serverInfo } from '../server-info.ts'

/** A public document that hosts and indexes read before they connect. */
interface DiscoveryDocument {
  path: string
  type: string
  /** `origin` is the address under which the caller reached the server. */
  text(origin: string): string
}

const skillsAt = '/.well-known/agent-skills'
const json = 'application/json; charset=utf-8'

const card = (origin: string) =>
  JSON.stringify({
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: 'dev.longshore/longshore',
    title: serverInfo.title,
    description: 'Create, deploy, scale, watch and repair apps, functions, jobs and databases.',
    version: serverInfo.version,
    remotes: [
      {
        type: 'streamable-http',
        url: `${origin}/mcp`,
        supportedProtocolVersions: [revision2026, ...protocolVersions],
      },
    ],
  })

const skillIndex = () =>
  JSON.stringify({
    $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
    skills: guides.map((guide) => ({
      name: guide.skill,
      type: 'skill-md',
      description: `${guide.description} ${guide.when}`,
      url: `${skillsAt}/${guide.skill}/SKILL.md`,
      digest: digestOf(guide).digest,
    })),
  })

export const discoveryDocuments: readonly DiscoveryDocument[] = [
  { path: '/.well-known/mcp/server-card.json', type: json, text: card },
  { path: '/mcp/server-card', type: json, text: card },
  { path: `${skillsAt}/index.json`, type: json, text: skillIndex },
  ...guides.map((guide) => ({
    path: `${skillsAt}/${guide.skill}/SKILL.md`,
    type: 'text/markdown; charset=utf-8',
    text: () => skillText(guide),
  })),
]
