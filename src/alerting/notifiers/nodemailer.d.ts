/** The part of nodemailer that is used here; its community types describe another major version. */
declare module 'nodemailer' {
  interface MailAddress {
    name: string
    address: string
  }
  interface Mail {
    from: MailAddress
    to: MailAddress[]
    subject: string
    messageId?: string
    headers: Record<string, string>
    text: string
    html: string
  }
  interface Transport {
    sendMail(mail: Mail): Promise<{ accepted: unknown[]; rejected: unknown[] }>
    close(): void
  }
  export function createTransport(options: {
    url: string
    connectionTimeout: number
    greetingTimeout: number
    socketTimeout: number
    dnsTimeout: number
    disableFileAccess: boolean
    disableUrlAccess: boolean
  }): Transport
}
