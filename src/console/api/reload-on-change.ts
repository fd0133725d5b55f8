import { statusPage } from './client.ts'

/** For `npm run dev`: reloads the page once the server has another build. The shell names its assets by content. */
export function reloadOnChange(): void {
  let shown: string | null = null
  setInterval(async () => {
    const answer = await statusPage('/console/', AbortSignal.timeout(5_000)).catch(() => null)
    if (answer?.status !== 200) return
    shown ??= answer.text
    if (answer.text !== shown) location.reload()
  }, 500)
}
