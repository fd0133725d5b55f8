import { untilRead } from '../until.ts'
import type { DiagnosisFixture } from './fixture.ts'
import { nodeServer, nodeSource, untilRequested } from './programs.ts'
import type { Seeded } from './seeded.ts'
import { good, type StateFault, served } from './state-fault.ts'
import { capacityFaults, trafficFaults } from './traffic-faults.ts'

export function stateFaults(seeded: Seeded): StateFault[] {
  return [
    ...settingFaults(seeded),
    ...trafficFaults(seeded),
    ...capacityFaults(seeded),
    ...originFaults(seeded),
    ...serviceFaults(seeded),
    // Last, because without its engine the region can do no other work.
    engineFault(seeded),
  ]
}

function settingFaults(seeded: Seeded): StateFault[] {
  const alert = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m', contactPointIds: [] }
  const alerted = async (fixture: DiagnosisFixture, change: object) => {
    const appEnvId = await served(fixture)
    await fixture.call('create-alert', { appEnvId, name: seeded.word(), ...alert, ...change })
    return appEnvId
  }
  return [
    {
      name: 'stopped by a person',
      cause: 'stopped',
      async make(fixture) {
        const appEnvId = await served(fixture)
        await fixture.call('stop-app-env', { appEnvId })
        return appEnvId
      },
    },
    { name: 'never deployed', cause: 'stopped', make: (fixture) => fixture.environment() },
    {
      name: 'a variable that is only saved',
      cause: 'pending-change',
      async make(fixture) {
        const appEnvId = await served(fixture)
        await fixture.call('update-app-env-variables', {
          appEnvId,
          set: [{ name: seeded.variable(), value: 'x' }],
        })
        return appEnvId
      },
    },
    {
      name: 'a size that is only saved',
      cause: 'pending-change',
      async make(fixture) {
        const appEnvId = await served(fixture)
        await fixture.call('update-app-env', { appEnvId, zClouds: 2 })
        return appEnvId
      },
    },
    {
      name: 'an alert of another unit',
      cause: 'alert-misconfigured',
      async make(fixture) {
        const config = { url: 'https://hooks.example.com/x' }
        const { accountId } = fixture.platform
        const point = { accountId, name: seeded.word(), type: 'webhook', config }
        const { contactPoint } = await fixture.call('create-contact-point', point)
        return alerted(fixture, { threshold: 0.8, contactPointIds: [contactPoint.contactPointId] })
      },
    },
    {
      name: 'an alert that fires',
      cause: 'alert-firing',
      async make(fixture) {
        const appEnvId = await alerted(fixture, { metric: 'ingress_request_rate', threshold: 0.001 })
        await fixture.waited(appEnvId, seeded.number(20, 60), 10)
        await fixture.fires(appEnvId)
        return appEnvId
      },
    },
    {
      name: 'an alert that notifies nobody',
      cause: 'alert-misconfigured',
      make: (fixture) => alerted(fixture, {}),
    },
  ]
}

/** The source or image of a version is gone, or has changed. */
function originFaults(seeded: Seeded): StateFault[] {
  return [
    {
      name: 'an upload that is gone',
      cause: 'lost-upload',
      async make(fixture) {
        const appEnvId = await fixture.environment()
        await fixture.deploy(appEnvId, good(), { loses: true })
        return appEnvId
      },
    },
    {
      name: 'a password that changed at its source',
      cause: 'pending-change',
      async make(fixture) {
        const name = seeded.variable()
        const source = await fixture.environment({}, { envVars: [{ name, value: seeded.word() }] })
        const { cliEnvName: envName } = await fixture.call('get-app-env', { appEnvId: source })
        const from = { envName, field: name }
        const refuses = `(console.error('authentication failed for ${seeded.word()}'), 'sorry')`
        const appEnvId = await fixture.environment({}, { envVars: [{ name, from }] })
        await fixture.deploy(appEnvId, nodeSource(nodeServer(refuses, '', '500')))
        await fixture.call('update-app-env-variables', {
          appEnvId: source,
          set: [{ name, value: seeded.word() }],
        })
        await fixture.measured([{ appEnvId, containers: [], ingress: await fixture.load(appEnvId, 10) }])
        await fixture.printed(appEnvId, 11)
        return appEnvId
      },
    },
  ]
}

function serviceFaults(seeded: Seeded): StateFault[] {
  return [
    {
      name: 'a database that was stopped',
      cause: 'database-down',
      async make(fixture) {
        const { accountId } = fixture.platform
        const { appId } = await fixture.call('create-app', {
          accountId,
          name: seeded.word(),
          dockerPreset: 'POSTGRESQL',
        })
        const data = await fixture.call('create-app-env', { accountId, appId, name: 'data', region: 'plain' })
        await fixture.deployed(data.appEnvId)
        const { hosts } = await fixture.call('get-app-env', { appEnvId: data.appEnvId, decrypt: true })
        const name = seeded.variable()
        // Its own port is free for others while it is stopped, so the program connects to a port that is never in use.
        const connects = `new URL(process.env.${name}); require('net').connect(${seeded.number(2, 19)}, '127.0.0.1')`
        const appEnvId = await fixture.environment({}, { envVars: [{ name, value: hosts[0].url }] })
        await fixture.call('stop-app-env', { appEnvId: data.appEnvId })
        await fixture.deploy(appEnvId, untilRequested(connects))
        await fixture.crashed(appEnvId)
        return appEnvId
      },
    },
    {
      name: 'a variable that was saved too late',
      cause: 'missing-variable',
      async make(fixture) {
        const name = seeded.variable()
        const needs = `if (!process.env.${name}) throw new Error('${name} is missing')`
        const appEnvId = await served(fixture, untilRequested(needs))
        await fixture.crashed(appEnvId)
        await fixture.call('update-app-env-variables', { appEnvId, set: [{ name, value: 'x' }] })
        return appEnvId
      },
    },
    {
      name: 'an image of a registry that refuses',
      cause: 'image-pull',
      async make(fixture) {
        const appEnvId = await fixture.environment({ useImage: true }, { region: 'plain' })
        await fixture.call('deploy-app-env-image', {
          appEnvId,
          image: `127.0.0.1:1/${seeded.word()}:${seeded.number(1, 9)}`,
        })
        await fixture.deployed(appEnvId)
        return appEnvId
      },
    },
  ]
}

function engineFault(seeded: Seeded): StateFault {
  return {
    name: 'an engine that is away',
    cause: 'engine-away',
    alone: true,
    async make(fixture) {
      const appEnvId = await fixture.environment({ useImage: true }, { region: 'plain' })
      const image = `registry.example.com/${seeded.word()}:1`
      await fixture.call('deploy-app-env-image', { appEnvId, image })
      await fixture.deployed(appEnvId)
      fixture.fake.faults.away = true
      const problem = async () => fixture.platform.reconciler?.engineProblem('plain') ?? null
      await untilRead(problem, (said) => said !== null, 'a listing that fails')
      return appEnvId
    },
    async after(fixture) {
      fixture.fake.faults.away = false
    },
  }
}
