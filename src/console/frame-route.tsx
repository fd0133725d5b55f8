import { createRootRoute, createRoute, lazyRouteComponent, Outlet } from '@tanstack/react-router'
import { NotFound } from './components/states.tsx'
import { text } from './search.ts'
import { Frame } from './shell/Frame.tsx'
import { untilLoaded } from './until-loaded.ts'

/** The pages of sign-in and of the overview come with the first script. Every other one is loaded when it is opened. */
export function page<T extends object, Name extends keyof T>(load: () => Promise<T>, name: Name) {
  return lazyRouteComponent<T, Name>(() => untilLoaded(load), name)
}

export const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound })

/** Everything that needs a session. `account` selects one of the reader's accounts; default the first. */
export const frame = createRoute({
  getParentRoute: () => root,
  id: 'frame',
  validateSearch: (search): { account?: string } => ({ account: text(search.account) }),
  component: Frame,
})
