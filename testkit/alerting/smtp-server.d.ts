/** The part of smtp-server that the tests use. */
declare module 'smtp-server' {
  import type { Server } from 'node:net'
  import type { Readable } from 'node:stream'

  type Done = (error?: Error | null) => void
  interface Session {
    envelope: { mailFrom: { address: string } | false; rcptTo: { address: string }[] }
  }
  export class SMTPServer {
    constructor(options: {
      authOptional?: boolean
      disabledCommands?: string[]
      logger?: boolean
      onConnect?(session: Session, done: Done): void
      onRcptTo?(address: { address: string }, session: Session, done: Done): void
      onData?(stream: Readable, session: Session, done: Done): void
    })
    server: Server
    listen(port: number, host: string, done: () => void): Server
    close(done: () => void): void
    on(event: 'error', listener: (error: Error) => void): this
  }
}
