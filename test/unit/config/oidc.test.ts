import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../src/config/config.ts'

describe('settings of OpenID Connect', () => {
  const read = (env: Record<string, string>) => readConfig(env, '/tmp')
  const provider = {
    LONGSHORE_OIDC_ISSUER: 'https://login.example.com',
    LONGSHORE_OIDC_CLIENT_ID: 'longshore',
  }

  it('are off by default, and name the provider by its host', () => {
    expect(read({}).oidc).toBeNull()
    expect(read(provider).oidc).toEqual({
      ...{ issuer: 'https://login.example.com', clientId: 'longshore', clientSecret: null },
      ...{ name: 'login.example.com', domains: [], groups: [] },
    })
  })

  it('keep the secret out of prints, and the groups with the most permission first', () => {
    const groups = 'devs=member,ops=admin,people=manageMembers'
    const env = { ...provider, LONGSHORE_OIDC_CLIENT_SECRET: 'shh-secret', LONGSHORE_OIDC_GROUPS: groups }
    const { oidc } = read(env)
    expect(oidc?.groups.map(({ group }) => group)).toEqual(['ops', 'people', 'devs'])
    expect(JSON.stringify(oidc)).not.toContain('shh-secret')
  })

  it('report what is missing or wrong', () => {
    const wrong: [Record<string, string>, string][] = [
      [{ LONGSHORE_OIDC_DOMAINS: 'example.com' }, 'needs LONGSHORE_OIDC_ISSUER and LONGSHORE_OIDC_CLIENT_ID'],
      [{ ...provider, LONGSHORE_HOST: '0.0.0.0' }, 'needs LONGSHORE_PUBLIC_URL'],
      [{ ...provider, LONGSHORE_OIDC_ISSUER: 'http://login.example.com' }, 'must be an https address'],
      [{ ...provider, LONGSHORE_OIDC_DOMAINS: 'Example.com' }, 'must be domains'],
      [{ ...provider, LONGSHORE_OIDC_GROUPS: 'ops=owner' }, 'must be groups'],
    ]
    for (const [env, problem] of wrong) {
      const details = expect.stringContaining(problem)
      expect(() => read(env), problem).toThrow(expect.objectContaining({ details }))
    }
  })
})
