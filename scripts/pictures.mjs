// Takes pictures of pages of the console, for scripts/screenshots.mjs.
import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const images = path.resolve('docs/images')
const mostBytes = 180_000

/** Measures the function as a person does, and leaves the charts in view. */
async function probe(page) {
  await page.getByRole('button', { name: 'Measure' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Measure' }).click({ timeout: 15_000 })
  const result = page.getByRole('region', { name: 'Result of the probe' })
  await result.waitFor({ timeout: 60_000 })
  await page.getByText('The probe is done.').waitFor({ state: 'detached', timeout: 15_000 })
  await result.evaluate((element) => element.closest('.panel').scrollIntoView())
}

/** Pixels of pages whose point is further down. */
const heights = { environment: 1310 }

/** What a person does on a page before its picture is taken. */
const before = { probe }

/** One picture of each page in each theme: docs/images/<page>-<theme>.png. */
export async function takePictures(browser, { api, token }, pages) {
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 800 } })
    const page = await context.newPage()
    const open = followRequests(page)
    const link = await fetch(`${api}/console/sign-in-link`, {
      method: 'POST',
      headers: { authorization: token },
    })
    if (!link.ok) throw new Error(`sign-in link: ${await link.text()}`)
    await page.goto((await link.json()).signInUrl)
    await page.getByRole('heading', { name: 'Environments', exact: true }).waitFor()
    for (const [name, pathname] of Object.entries(pages)) {
      await page.setViewportSize({ width: 1280, height: heights[name] ?? 800 })
      await page.goto(`${api}/console${pathname}`)
      await page.locator('main h1').waitFor()
      await page.getByText('Loading', { exact: true }).first().waitFor({ state: 'detached' })
      await hasLoaded(page, open)
      await before[name]?.(page)
      await picture(page, `${name}-${colorScheme}`)
    }
    await context.close()
  }
}

/** The requests of a page that are on the way. */
function followRequests(page) {
  const open = new Set()
  page.on('request', (request) => open.add(request))
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => open.delete(request))
  return open
}

/** Pages read again and again, so a moment without requests is looked for. No page has an animation. */
async function hasLoaded(page, open) {
  const deadlineMs = Date.now() + 60_000
  const isDone = async () => open.size === 0 && (await page.locator('[aria-label="Loading"]').count()) === 0
  // Twice: between two reads of a page, one of which begins when the other has ended, there is such a moment too.
  for (let quiet = 0; quiet < 2; quiet = (await isDone()) ? quiet + 1 : 0) {
    if (Date.now() > deadlineMs) throw new Error(`${page.url()} does not stop loading`)
    await delay(150)
  }
}

export async function picture(page, name) {
  await mkdir(images, { recursive: true })
  const file = path.join(images, `${name}.png`)
  await page.screenshot({ path: file })
  const { size } = await stat(file)
  if (size > mostBytes) throw new Error(`${file} has ${size} bytes, more than ${mostBytes}`)
  process.stdout.write(`docs/images/${name}.png ${size} bytes\n`)
}
