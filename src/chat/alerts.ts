import type { Finding } from '../contract/diagnosis.ts'
import { type Notification, notificationFacts, notificationTitle } from '../domain/alerts/notification.ts'
import type { ChatText } from './chat.ts'
import { escaped } from './text.ts'

/** The message of an episode: firing, then what became of it. */
export function alertMessage(notification: Notification): ChatText {
  const { description, startedAt, region, appEnvName, url } = notification
  return {
    title: escaped(notificationTitle(notification), 300),
    lines: [
      escaped(notificationFacts(notification), 1_000),
      ...(description === '' ? [] : [escaped(description, 1_000)]),
      `Environment ${escaped(appEnvName, 140)} · since ${startedAt} · ${escaped(region, 100)}`,
      ...(url === null ? [] : [escaped(url)]),
    ],
  }
}

/** The cause, in the thread. Quotes of logs are left out: not everybody in the channel may read them. */
export function diagnosisMessage(
  { appEnvName }: Notification,
  { servingVersion, diagnosis }: { servingVersion: number | null; diagnosis: Finding | null },
): ChatText {
  const serves = servingVersion === null ? 'No version serves.' : `Version ${servingVersion} serves.`
  const next = `\`/longshore why ${escaped(appEnvName, 140)}\` shows more.`
  if (diagnosis === null) return { title: 'Diagnosis: no cause found', lines: [serves, next] }
  const { cause, confidence, summary, fix } = diagnosis
  return {
    title: `Diagnosis: ${cause} (${confidence})`,
    lines: [
      escaped(summary, 1_000),
      ...(fix === null ? [] : fix.effects.map((effect) => `• ${escaped(effect, 300)}`)),
      serves,
      next,
    ],
  }
}

/** How a remediation run stands, and what it did. */
export function runMessage({
  name,
  status,
  story,
}: {
  name: string
  status: string
  story: string[]
}): ChatText {
  return {
    title: `Remediation ${escaped(name, 140)}: ${status}`,
    lines: story.map((sentence) => escaped(sentence, 1_000)),
  }
}
