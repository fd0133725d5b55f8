import { ensureNpmImage } from '../builds/npm-image.ts'
import { ensureDatabaseImages } from '../databases/images.ts'
import { dockerAvailable } from './docker-available.ts'

/** Makes the images of the tests once, before files that run side by side would each make them. */
export default async function setup(): Promise<void> {
  if (!dockerAvailable) return
  await ensureNpmImage()
  await ensureDatabaseImages()
}
