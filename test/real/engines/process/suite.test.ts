import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../../../src/clock.ts'
import { createProcessEngine } from '../../../../src/engines/process/engine.ts'
import { createLog } from '../../../../src/log.ts'
import { describeEngine } from '../../../../testkit/engines/suite.ts'
import { bundledSupervisorEntry } from '../../../../testkit/engines/supervisor-entry.ts'

describeEngine('process', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'longshore-process-'))
  const open = async () => {
    const engine = createProcessEngine({
      home,
      clock: systemClock,
      log: createLog('test', 'silent'),
      supervisorEntry: bundledSupervisorEntry(),
    })
    await engine.open()
    return engine
  }
  return {
    engine: await open(),
    baseImage: 'node:20-alpine',
    reopen: open,
    // The supervisor exits when its data directory is gone.
    close: () => rm(home, { recursive: true, force: true }),
  }
})
