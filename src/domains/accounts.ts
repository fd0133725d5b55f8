import type { AcmeAccount, AcmeClient } from '../acme/client.ts'
import { AcmeError } from '../acme/error.ts'
import { type Clock, timestamp } from '../clock.ts'
import type { Db } from '../store/db.ts'
import { findAcmeAccount, saveAcmeAccount } from '../store/repositories/acme-accounts.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'

interface AcmeAccountsDeps {
  db: Db
  secrets: SecretBox
  clock: Clock
  client: AcmeClient
  directoryUrl: string
}

/** Errors of an account that the authority no longer takes. */
const lost = new Set(['accountDoesNotExist', 'unauthorized'])

/** The account of the installation at its certificate authority, made when it is first needed. */
export class AcmeAccounts {
  readonly #deps: AcmeAccountsDeps

  constructor(deps: AcmeAccountsDeps) {
    this.#deps = deps
  }

  /** Runs `use` with the account; once more with a new one if the authority no longer takes the old one. */
  async with<T>(use: (account: AcmeAccount) => Promise<T>): Promise<T> {
    const known = await this.#find()
    try {
      return await use(known ?? (await this.#make()))
    } catch (error) {
      if (!known || !(error instanceof AcmeError) || !lost.has(error.type)) throw error
      return await use(await this.#make())
    }
  }

  async #find(): Promise<AcmeAccount | null> {
    const { db, secrets, directoryUrl } = this.#deps
    const stored = await db.read((tx) => findAcmeAccount(tx, directoryUrl))
    return stored && { url: stored.url, key: secrets.open(stored.key, `${directoryUrl}/key`) }
  }

  async #make(): Promise<AcmeAccount> {
    const { db, secrets, client, clock, directoryUrl } = this.#deps
    const account = await client.register()
    const key = secrets.seal(account.key, `${directoryUrl}/key`)
    const stored = { directoryUrl, url: account.url, key }
    await db.write((tx) => saveAcmeAccount(tx, stored, timestamp(clock.wallMs())))
    return account
  }
}
