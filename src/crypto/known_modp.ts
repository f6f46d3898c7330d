/**
 * Known answers for the self test of modular exponentiation: over a safe prime of 512 bits, computed with CPython's `pow`, each also
 * a row of `vectors/crypto/modp.json`. The last power begins with a zero byte. Hex throughout.
 */

const modulus: string =
  '9ba778868280b076b559b7a91f26d8ae407d6b7dd4ded4a4c907e6d9ca7d45e6266919e460888783c2403767b7e42ebca029' +
  'ce66ccc5611403c4a4e0a64865af';

export const modularPowers: readonly Readonly<Record<'base' | 'exponent' | 'modulus' | 'power', string>>[] = [
  {
    base: '02',
    exponent: '981525ae6409e3db51d7eb6947415fe890389a989d780844afe04ecc62f7f6f4',
    modulus,
    power:
      '3b2bd86b24c2eca242ca865c548e050bb4b9269c2f438b2ceb9e5d7e70e7c5861eec236ff72d038417a44c89f9c7940aaacb' +
      '43da52a0b953922f4a542a48c7ba',
  },
  {
    base:
      '4a52d4e5f56c0615cdb3f3391a401fbc40eb5dd6c1c5ac3bb3b1d654019c500af9b04236a85ce3f6320d131f544c7d102aaf' +
      '6de50565d14d400a1552b3485dd7',
    exponent: '981525ae6409e3db51d7eb6947415fe890389a989d780844afe04ecc62f7f6f4',
    modulus,
    power:
      '483b3ae8f59fa11d9c9ea3db6402db9c63799c3d992f4b33d55455fda357b45a1c262c1dc0996db58c1e5caa38003e4b9227' +
      '6ab022add1ae99dca13d0d486956',
  },
  {
    base:
      '4a52d4e5f56c0615cdb3f3391a401fbc40eb5dd6c1c5ac3bb3b1d654019c500af9b04236a85ce3f6320d131f544c7d102aaf' +
      '6de50565d14d400a1552b3485dd7',
    exponent: 'c1fad3abe0fc8ae13333d9ce7efe3c7ba2bc773bf774ff04d53b6285a6d08cc0',
    modulus,
    power:
      '00702657f8273337ec57b85ba09c8c907119e81b92e6ab04ccc976332137e2e3d0d524692ce2b4c5901ce209569e5d876062' +
      '34a0bed5a5773a0cee8906dc3059',
  },
];
