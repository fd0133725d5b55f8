/** Escapes the three characters that begin links and mentions in the text of Slack and its like. */
export function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
