import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { updateAccount } from '../../src/contract/accounts.ts'
import { getAppEnv, updateAppEnv } from '../../src/contract/app-envs.ts'
import { getMemberEnvAccess, listMembers, updateMemberEnvAccess } from '../../src/contract/members.ts'
import { createUserToken, listUserTokens } from '../../src/contract/users.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { axe } from '../../testkit/console/inspect.ts'

describe.skipIf(noBrowser !== null)(
  `the console in a browser: members, tokens and account${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    const environments = ['alpha', 'beta', 'gamma'].map((name) => ({ name, appEnvId: '' }))
    beforeAll(async () => {
      fixture = await ConsoleFixture.start({ reconciles: false })
      for (const environment of environments) {
        const made = await fixture.platform.makeEnvironment({ environment: { cliEnvName: environment.name } })
        environment.appEnvId = made.appEnvId
      }
    })
    afterAll(() => fixture?.close())
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))
    const accessOf = async (membershipId: string) => {
      const { admin, accountId } = fixture.platform
      const { allowedAppEnvIds } = await admin.client.call(getMemberEnvAccess, { accountId, membershipId })
      return environments
        .filter(({ appEnvId }) => allowedAppEnvIds.includes(appEnvId))
        .map(({ name }) => name)
    }

    it('M5, M6: edits access as a matrix and shows what it opens and closes before saving', async () => {
      const member = await fixture.platform.makeUser()
      const name = `User ${member.email.match(/\d+/)?.[0]}`
      const page = await fixture.signedIn('/members')
      const cell = (environment: string) => page.getByLabel(`${name} reaches ${environment}`)
      await cell('beta').uncheck()
      await page.getByText('1 member changed, not saved').waitFor()
      await page.getByRole('button', { name: 'Review changes' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Access changed from all 3 environments to 2 of 3').waitFor()
      expect(await dialog.getByRole('definition').allInnerTexts()).toEqual(['nothing', 'beta'])
      expect(await axe(page)).toEqual([])
      await dialog.getByRole('button', { name: 'Save for 1 member' }).click()
      await dialog.waitFor({ state: 'detached' })
      expect(await accessOf(member.membershipId)).toEqual(['alpha', 'gamma'])
      // An empty list would grant full access, so the page does not save one.
      await cell('alpha').uncheck()
      await cell('gamma').uncheck()
      await page.getByText('which means full access.').waitFor()
      expect(await page.getByRole('button', { name: 'Review changes' }).isDisabled()).toBe(true)
    })

    it('shows both versions after a concurrent change of the access', async () => {
      const { platform } = fixture
      const member = await platform.makeUser()
      const name = `User ${member.email.match(/\d+/)?.[0]}`
      const page = await fixture.signedIn('/members')
      await page.getByLabel(`${name} reaches alpha`).uncheck()
      await page.getByRole('button', { name: 'Review changes' }).click()
      await page.getByRole('dialog').getByText('Access changed from').waitFor()
      await platform.admin.client.call(updateMemberEnvAccess, {
        accountId: platform.accountId,
        membershipId: member.membershipId,
        allowedAppEnvIds: [environments[0]!.appEnvId],
      })
      await page.getByRole('button', { name: 'Save for 1 member' }).click()
      await page.getByRole('row', { name: 'Access beta, gamma alpha' }).waitFor()
      expect(await accessOf(member.membershipId)).toEqual(['alpha'])
      await page.getByRole('button', { name: 'Save mine' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await accessOf(member.membershipId)).toEqual(['beta', 'gamma'])
    })

    it('M5: counts the members who lose access when it is turned on, then explains access', async () => {
      const page = await fixture.signedIn('/members')
      await page.getByRole('button', { name: 'Switch on' }).click()
      const dialog = page.getByRole('dialog')
      await dialog
        .getByText(/User \d+: 1 environment/)
        .first()
        .waitFor()
      await dialog.getByRole('button', { name: 'Switch on' }).click()
      await page.getByText('Per-environment access is on.').waitFor()
      await page.getByLabel('Environment to explain').selectOption('beta')
      await page.waitForURL(/explain=beta/)
      await page.getByText('The environment is not on the list').first().waitFor()
    })

    it('adds a member with a token shown once, and removes them', async () => {
      const { platform } = fixture
      const page = await fixture.signedIn('/members')
      await page.getByRole('button', { name: 'Add member' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('E-mail').fill('not an address')
      await dialog.getByLabel('Name').fill('Grace')
      await dialog.getByRole('button', { name: 'Add member' }).click()
      await dialog.getByText('must be an e-mail address').first().waitFor()
      expect(await dialog.getByLabel('Name').inputValue()).toBe('Grace')
      await dialog.getByLabel('E-mail').fill('grace@example.com')
      await dialog.getByRole('button', { name: 'Add member' }).click()
      const shown = page.getByRole('region', { name: 'Token', exact: true })
      const token = await shown.innerText()
      expect((await platform.request('GET', '/user', { token })).json.email).toBe('grace@example.com')
      await page.getByRole('button', { name: 'I have copied it' }).click()
      await page.getByRole('button', { name: 'Remove Grace' }).click()
      await dialog.getByText('loses access to this account immediately').waitFor()
      await dialog.getByRole('button', { name: 'Remove member' }).click()
      await dialog.waitFor({ state: 'detached' })
      const { accountId } = platform
      const { members } = await platform.admin.client.call(listMembers, { accountId })
      expect(members.map(({ email }) => email)).not.toContain('grace@example.com')
    })

    it('creates, revokes and rotates tokens; each is shown once, and rotating keeps the session', async () => {
      const { platform } = fixture
      const owner = await platform.makeUser({ admin: true })
      const page = await fixture.signedIn('/tokens', { token: owner.token })
      const shown = page.getByRole('region', { name: 'Token', exact: true })
      await page.getByRole('button', { name: 'Create token' }).click()
      await page.getByLabel('Name').fill('reader')
      await page.getByLabel(/Read-only/).check()
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      const reader = await shown.innerText()
      const made = await platform.request('POST', '/user/tokens', { token: reader, input: { name: 'no' } })
      expect(made.status).toBe(403)
      expect(await axe(page)).toEqual([])
      await page.getByRole('button', { name: 'I have copied it' }).click()
      await page.getByRole('button', { name: 'Revoke reader' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click()
      await expect
        .poll(async () => (await platform.request('GET', '/user', { token: reader })).status)
        .toBe(401)
      await page.getByRole('button', { name: /^Rotate/ }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate token' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      const next = await shown.innerText()
      expect((await platform.request('GET', '/user', { token: owner.token })).status).toBe(401)
      expect((await platform.client(next).call(listUserTokens, {})).tokens).toHaveLength(1)
      await page.reload()
      await page.getByText('This session').waitFor()
      expect(await page.content()).not.toContain(next)
      await platform.client(next).call(createUserToken, { name: 'other' })
    })

    it('keeps typed text through a conflict of names, for account and environment', async () => {
      const { admin, accountId } = fixture.platform
      const page = await fixture.signedIn('/settings')
      const field = page.getByLabel('Account name')
      await field.fill('Mine')
      await admin.client.call(updateAccount, { accountId, name: 'Theirs' })
      await page.getByRole('form', { name: 'Name' }).getByRole('button', { name: 'Save' }).click()
      await page.getByRole('row', { name: 'Account name Mine Theirs' }).waitFor()
      await page.getByRole('button', { name: 'Take theirs' }).click()
      expect(await field.inputValue()).toBe('Theirs')
      const [{ appEnvId } = { appEnvId: '' }] = environments
      await page.goto(fixture.address('/environments/alpha/settings'))
      const name = page.getByRole('form', { name: 'Name' }).getByLabel('Name', { exact: true })
      await name.fill('my name')
      await admin.client.call(updateAppEnv, { appEnvId, name: 'their name' })
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('row', { name: 'Name my name their name' }).waitFor()
      await page.getByRole('button', { name: 'Save mine' }).click()
      await expect.poll(async () => (await admin.client.call(getAppEnv, { appEnvId })).name).toBe('my name')
    })
  },
)
