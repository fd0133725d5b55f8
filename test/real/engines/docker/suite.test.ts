import { randomBytes } from 'node:crypto'
import { systemClock } from '../../../../src/clock.ts'
import { createDockerEngine } from '../../../../src/engines/docker/engine.ts'
import { createLog } from '../../../../src/log.ts'
import { dockerAvailable } from '../../../../testkit/engines/docker-available.ts'
import { ensureNodeBaseImage, removeInstallation } from '../../../../testkit/engines/docker-images.ts'
import { describeEngine } from '../../../../testkit/engines/suite.ts'

const absent = dockerAvailable ? null : 'no engine answers on the Docker socket'

describeEngine(
  'docker',
  async () => {
    const installationId = `suite-${randomBytes(6).toString('hex')}`
    const log = createLog('docker-suite', 'warn')
    const open = async () => {
      const engine = createDockerEngine({ installationId, clock: systemClock, log })
      await engine.open()
      return engine
    }
    const baseImage = await ensureNodeBaseImage()
    return {
      engine: await open(),
      baseImage,
      reopen: open,
      close: () => removeInstallation(installationId),
    }
  },
  { absent },
)
