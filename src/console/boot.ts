// The first script, small and without imports of its own: the page stays empty until all others have arrived.
import { untilLoaded } from './until-loaded.ts'

function isLoaded({ sheet }: HTMLLinkElement): boolean {
  try {
    return sheet !== null && sheet.cssRules.length > 0
  } catch {
    return false
  }
}

function loadAgain(link: HTMLLinkElement): Promise<unknown> {
  let last = link
  return untilLoaded(
    () =>
      new Promise((resolve, reject) => {
        const next = last.cloneNode() as HTMLLinkElement
        next.addEventListener('load', resolve)
        next.addEventListener('error', reject)
        last.replaceWith(next)
        last = next
      }),
  )
}

const style = document.querySelector<HTMLLinkElement>('link[rel=stylesheet]')
if (style && !isLoaded(style)) loadAgain(style).catch(() => {})

untilLoaded(() => import('./main.tsx')).catch(() => {
  const place = document.getElementById('console')
  if (place) place.textContent = 'The console could not be loaded. Check the connection and reload this page.'
})
