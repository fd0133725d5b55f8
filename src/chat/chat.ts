/** A person as the chat names them. Only the ids count: a name can be chosen freely. */
interface Speaker {
  workspace: string
  chatUser: string
  chatName: string
}

/** A command, a click on a button, or the text of a form. The adapter vouches that the chat sent it. */
export interface Incoming extends Speaker {
  kind: 'command' | 'click' | 'form'
  /** Names of the request: none of them is accepted twice. */
  ids: string[]
  /** The words of a command; the text of a form. */
  text: string
  /** The button or form. */
  action: string
  /** What the button or form was made with. */
  value: string
  /** Where answers go that come later; null: nowhere. */
  responseUrl: string | null
  /** Opens a form within seconds; null: the chat has none. */
  triggerId: string | null
}

interface Button {
  label: string
  action: string
  value: string
  style?: 'primary' | 'danger'
}

/** A message of lines and buttons. Texts are in the markup of the chat: `escaped` makes others harmless. */
export interface ChatText {
  /** In a few words, for notifications and receivers without layout. */
  title: string
  lines: readonly string[]
  buttons?: readonly Button[]
}

export interface ChatReply extends ChatText {
  /** Shown to everybody in the channel; else to the asker only. */
  shared?: boolean
}

/** A form with one field for text. */
export interface ChatForm {
  title: string
  label: string
  action: string
  value: string
}

/** The result of one attempt. `reason` is our own text: it never contains an address, a secret or the chat's answer. */
export type Sent =
  /** `handle` is what the chat calls the message. */
  { ok: true; handle: string | null } | { ok: false; reason: string; retryAfterMs?: number; gone?: true }

/** Writes into the chat. Never throws. */
export interface ChatWriter {
  /** `thread` is the handle of the message that this one follows. */
  post(channel: string, message: ChatText, thread: string | null): Promise<Sent>
  update(handle: string, message: ChatText): Promise<Sent>
  /** `responseUrl`: where the answer to the form goes. */
  ask(triggerId: string, form: ChatForm, responseUrl: string | null): Promise<Sent>
}

/** The port to a chat system that is reached over a socket: it receives until it is stopped. */
export interface ChatSocket {
  stop(): Promise<void>
}

export type Receive = (incoming: Incoming) => Promise<void>
