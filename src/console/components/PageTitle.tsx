import { usePageTitle } from './page-title.ts'

/** The heading of a page, which is the title of the tab too. */
export function PageTitle({ children }: { children: string }) {
  usePageTitle(children)
  return <h1>{children}</h1>
}
