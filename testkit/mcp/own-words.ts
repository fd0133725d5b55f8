import type { ToolReply } from './tool-session.ts'

/** Fields of a result that contain our own sentences. */
const ownFields = ['error', 'details', 'message', 'notes', 'effects']

/** Our own text: the text without envelopes and JSON, and the fields with our sentences. */
export function ownWords({ text, structured }: ToolReply): string {
  return [sentences(text), ...ownFields.map((field) => JSON.stringify(structured[field] ?? ''))].join('\n')
}

export function sentences(text: string): string {
  return text
    .replaceAll(/<untrusted ([0-9a-f]{32})>\n[\s\S]*\n<\/untrusted \1>/g, '')
    .split('\n')
    .filter((line) => !line.startsWith('{'))
    .join('\n')
}
