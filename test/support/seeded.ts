export { seededRandom } from './random.ts';
