import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

interface ReceivedMail {
  to: string[]
  raw: string
}

/** A real SMTP server in this process that keeps the mails it accepted. */
export class MailServer {
  readonly mails: ReceivedMail[] = []
  /** An SMTP status for a recipient, or null to accept it. */
  refuse: (address: string) => number | null = () => null
  /** An SMTP status for the whole message, or null to accept it. */
  refuseData: () => number | null = () => null
  readonly #server: SMTPServer

  private constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      logger: false,
      onRcptTo: ({ address }, _session, done) => done(refusal(this.refuse(address))),
      onData: (stream, session, done) => {
        let raw = ''
        stream.setEncoding('utf8').on('data', (text: string) => {
          raw += text
        })
        stream.once('end', () => {
          const error = refusal(this.refuseData())
          if (!error) this.mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), raw })
          done(error)
        })
      },
    })
    this.#server.on('error', () => {})
  }

  static async start(): Promise<MailServer> {
    const server = new MailServer()
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    const { port } = this.#server.server.address() as AddressInfo
    return `smtp://127.0.0.1:${port}?from=alerts@longshore.example`
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(resolve))
  }
}

function refusal(status: number | null): Error | null {
  return status === null
    ? null
    : Object.assign(new Error('said by the server: secret'), { responseCode: status })
}
