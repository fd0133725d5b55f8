import { expect, it } from 'vitest'
import { nearestNames } from '../../../src/mcp/tools/nearest-names.ts'

const inputs = ['appEnvId', 'envName', 'version', 'expectedRevision']

it.each([
  ['environmentId', 'appEnvId'],
  ['app_environment_id', 'appEnvId'],
  ['environment', 'appEnvId'],
  ['applicationEnvId', 'appEnvId'],
  // Another id is no misspelled one.
  ['contentId', undefined],
  ['deploymentId', undefined],
])('suggests for %s: %s', (wrong, right) => {
  expect(nearestNames(wrong, inputs)[0]).toBe(right)
})

it('suggests the id of an app for one of an application', () => {
  expect(nearestNames('applicationId', ['accountId', 'appId', 'name'])[0]).toBe('appId')
})
