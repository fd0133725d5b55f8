import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createMailer } from '../../src/alerting/notifiers/email.ts'
import { systemClock } from '../../src/clock.ts'
import { mailSignInLinks } from '../../src/operations/access/mailed-links.ts'
import { MailServer } from '../../testkit/alerting/mail-server.ts'
import { ConsoleFixture, noBrowser } from '../../testkit/console/fixture.ts'
import { untilRead } from '../../testkit/until.ts'

describe.skipIf(noBrowser !== null)(
  `the sign-in page${noBrowser ? ` (skipped: ${noBrowser})` : ''}`,
  { timeout: 180_000 },
  () => {
    let fixture: ConsoleFixture
    let mails: MailServer
    /** Passkeys want a name. */
    const at = (pathname: string) => fixture.address(pathname).replace('127.0.0.1', 'localhost')
    beforeAll(async () => {
      mails = await MailServer.start()
      fixture = await ConsoleFixture.start({ reconciles: false, smtpUrl: mails.url })
    })
    afterAll(async () => {
      await fixture?.close()
      await mails?.close()
    })
    afterEach(async () => expect(await fixture.endTest()).toEqual([]))

    /** A page with a device that holds passkeys and verifies its user. */
    async function pageWithDevice(): Promise<Page> {
      const page = await fixture.page(await fixture.context())
      const protocol = await page.context().newCDPSession(page)
      await protocol.send('WebAuthn.enable')
      await protocol.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
          ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
        },
      })
      return page
    }
    async function signInWithToken(page: Page, token: string, next = '/console/'): Promise<void> {
      await page.goto(`${at('/sign-in')}?next=${encodeURIComponent(next)}`)
      await page.getByLabel('User token').fill(token)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    }

    it('sign-in: a person adds a passkey, signs in with it without a token, and removes it', async () => {
      const person = await fixture.platform.makeUser()
      const page = await pageWithDevice()
      await signInWithToken(page, person.token, '/console/passkeys')
      await page.getByRole('button', { name: 'Add passkey' }).click()
      await page.getByLabel('Name').fill('Laptop')
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      await page
        .getByRole('region', { name: 'List of passkeys' })
        .getByText('Laptop', { exact: true })
        .first()
        .waitFor()

      await page.context().clearCookies()
      await page.goto(at('/sign-in?next=%2Fconsole%2Fpasskeys'))
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      const sessions = page.getByRole('region', { name: 'List of sessions' })
      await sessions.getByText('This browser').waitFor()
      expect(await sessions.getByRole('row').filter({ hasText: 'This browser' }).textContent()).toContain(
        'Passkey',
      )

      await page.getByRole('button', { name: 'Remove Laptop' }).click()
      await page.getByRole('button', { name: 'Remove passkey' }).click()
      await page.getByText('You have no passkey yet.').waitFor()
      await page.context().clearCookies()
      await page.goto(at('/sign-in'))
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await page.getByText('Passkey is not valid').waitFor()
    })

    it('sign-in: a person asks for a link, sees whom it signs in, and is signed in after a click', async () => {
      const person = await fixture.platform.makeUser()
      const page = await fixture.page(await fixture.context())
      await page.goto(at('/sign-in'))
      await page.getByLabel('E-mail address').fill(person.email)
      await page.getByRole('button', { name: 'Send me a link' }).click()
      await page.getByText('If a user has this address').waitFor()
      const deliver = async () => {
        const { platform } = fixture
        const mailer = createMailer({ url: mails.url, clock: systemClock, deadlineMs: 10_000 })
        const publicUrl = () => new URL(at('')).origin
        await mailSignInLinks({ db: platform.db, clock: systemClock, mailer, publicUrl })
        return mails.mails.length
      }
      await untilRead(deliver, (count) => count > 0, 'the mail')
      const text = mails.mails[0]!.raw.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=')
      await page.goto(/http:\/\/localhost\S+#mail\.[\w-]+/.exec(text)![0])
      await expect.poll(() => page.url()).not.toContain('#mail')
      await page.getByRole('button', { name: `Sign in as ${person.email}` }).click()
      await page.waitForURL(at('/'))
    })
  },
)
