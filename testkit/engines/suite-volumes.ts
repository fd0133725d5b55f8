import { expect, it } from 'vitest'
import type { SuiteInstallation } from './suite-installation.ts'

export function volumePromises(suite: SuiteInstallation): void {
  const mounts = [{ volume: 'data', path: '/app/data' }]
  const env = { DATA_DIR: '/app/data' }

  it('a volume keeps its files when its container is replaced, and is its environment’s alone', async () => {
    const first = await suite.serving(env, { mounts })
    await suite.ask(first.name, '/write?name=note&text=kept')
    await suite.engine.remove(first.name)
    const { appEnvId, accountId } = first
    const second = await suite.serving(env, { mounts, appEnvId, accountId })
    expect(await suite.ask(second.name, '/read?name=note')).toBe('kept')
    const other = await suite.serving(env, { mounts, accountId })
    expect(await suite.ask(other.name, '/read?name=note')).toBe('nothing')
    for (const { name } of [second, other]) await suite.engine.remove(name)
    for (const gone of [appEnvId, other.appEnvId]) await suite.engine.purge(gone)
    const third = await suite.serving(env, { mounts, appEnvId, accountId })
    expect(await suite.ask(third.name, '/read?name=note')).toBe('nothing')
    await suite.engine.remove(third.name)
    await suite.engine.purge(appEnvId)
  })
}
