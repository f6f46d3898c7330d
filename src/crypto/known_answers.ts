/**
 * Known answers for the self test of a runtime's primitives: literal values of the standards, each also a row of
 * `vectors/crypto`. Hex throughout. Code-free on purpose.
 */

import type { AeadName, AgreementName, CbcName, CurveName, HashName, MacName, StreamName } from './provider.ts';

/** Digests of `abc` (FIPS 180-4). */
export const digestsOfAbc: Readonly<Record<HashName, string>> = {
  sha1: 'a9993e364706816aba3e25717850c26c9cd0d89d',
  sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  sha384: 'cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7',
  sha512:
    'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d' +
    '4423643ce80e2a9ac94fa54ca49f',
};

/** MD5 of `abc` (RFC 1321 A.5). */
export const md5OfAbc = '900150983cd24fb0d6963f7d28e17f72';

/** Tags of `what do ya want for nothing?` under the key `Jefe` (RFC 2202 §3, RFC 4231 §4.3). */
export const tagsOfJefe: Readonly<Record<MacName, string>> = {
  'hmac-md5': '750c783e6ab0b503eaa86e310a5db738',
  'hmac-sha1': 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79',
  'hmac-sha256': '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  'hmac-sha512':
    '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaea' +
    'b1a34d4a6b4b636e070a38bce737',
};

/** The four blocks that SP 800-38A enciphers. */
export const modesPlaintext: string =
  '6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f' +
  '2445df4f9b17ad2b417be66c3710';

/** Counter mode of them (SP 800-38A F.5). */
export const counterMode: Readonly<Record<StreamName, { readonly key: string; readonly ciphertext: string }>> = {
  'aes128-ctr': {
    key: '2b7e151628aed2a6abf7158809cf4f3c',
    ciphertext:
      '874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff5ae4df3edbd5d35e5b4f09020db03eab1e03' +
      '1dda2fbe03d1792170a0f3009cee',
  },
  'aes192-ctr': {
    key: '8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b',
    ciphertext:
      '1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e941e36b26bd1ebc670d1bd1d665620abf74f78' +
      'a7f6d29809585a97daec58c6b050',
  },
  'aes256-ctr': {
    key: '603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4',
    ciphertext:
      '601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c52b0930daa23de94ce87017ba2d84988ddfc9' +
      'c58db67aada613c2dd08457941a6',
  },
};
export const counterModeStart: string = 'f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff';

/** Chained blocks: AES of SP 800-38A F.2, triple DES of SP 800-67 B.1, whose blocks are chained here: by OpenSSL. */
export const chained: Readonly<Record<CbcName, Readonly<Record<'key' | 'iv' | 'plaintext' | 'ciphertext', string>>>> = {
  'aes128-cbc': {
    key: '2b7e151628aed2a6abf7158809cf4f3c',
    iv: '000102030405060708090a0b0c0d0e0f',
    plaintext: modesPlaintext,
    ciphertext:
      '7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b273bed6b8e3c1743b7116e69e222295163ff1' +
      'caa1681fac09120eca307586e1a7',
  },
  'aes192-cbc': {
    key: '8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b',
    iv: '000102030405060708090a0b0c0d0e0f',
    plaintext: modesPlaintext,
    ciphertext:
      '4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a571b242012fb7ae07fa9baac3df102e008b0' +
      'e27988598881d920a9e64f5615cd',
  },
  'aes256-cbc': {
    key: '603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4',
    iv: '000102030405060708090a0b0c0d0e0f',
    plaintext: modesPlaintext,
    ciphertext:
      'f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d39f23369a9d9bacfa530e26304231461b2eb' +
      '05e2c39be9fcda6c19078c6a9d1b',
  },
  '3des-cbc': {
    key: '0123456789abcdef23456789abcdef01456789abcdef0123',
    iv: 'f69f2445df4f9b17',
    plaintext: '54686520717566636b2062726f776e20666f78206a756d70',
    ciphertext: 'a5c282bad0de3774becd2e04386b589fb5057d8552fc4336',
  },
};

/** Cases 4 and 16 of the GCM submission behind SP 800-38D. */
export const galoisMode: Readonly<Record<AeadName, { readonly key: string; readonly sealed: string }>> = {
  'aes128-gcm': {
    key: 'feffe9928665731c6d6a8f9467308308',
    sealed:
      '42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba3' +
      '0b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47',
  },
  'aes256-gcm': {
    key: 'feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308',
    sealed:
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f6' +
      '1e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b',
  },
};
export const galoisNonce: string = 'cafebabefacedbaddecaf888';
export const galoisAssociated: string = 'feedfacedeadbeeffeedfacedeadbeefabaddad2';
export const galoisPlaintext: string =
  'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16a' +
  'edf5aa0de657ba637b39';

/** ChaCha20 (RFC 8439 §2.4.2), whose nonce begins with the upper half of a 64-bit counter here. */
export const chacha: Readonly<Record<'key' | 'nonce' | 'plaintext' | 'ciphertext', string>> = {
  key: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
  nonce: '0000004a00000000',
  plaintext:
    '4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a204966204920636f75' +
    '6c64206f6666657220796f75206f6e6c79206f6e652074697020666f7220746865206675747572652c2073756e7363726565' +
    '6e20776f756c642062652069742e',
  ciphertext:
    '6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0bf91b65c5524733ab8f593dabcd62b3571639' +
    'd624e65152ab8f530c359f0861d807ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab77937365af90bbf' +
    '74a35be6b40b8eedf2785e42874d',
};
export const chachaCounter = 1;

/** Poly1305 of the plaintext above, and of its first four bytes with `chachaLong` bytes i² behind them: by OpenSSL. */
export const chachaTag = 'cd5213c13e77e1f8666e530602583f40';
export const chachaLong = 8200;
export const chachaLongTag = 'ae72d5269a5e53e941dc4aab6f5eff16';

/** A key agreement: `shared` begins with a zero byte, and `refused` must not be taken. */
export interface AgreementAnswer {
  readonly secret: string;
  readonly ownPublic: string;
  readonly public: string;
  readonly shared: string;
  readonly refused: string;
}

/** X25519 against the key of Bob in RFC 7748 §6.1; the NIST curves against the responders of RFC 5903 §8. */
export const agreementAnswers: Readonly<Record<AgreementName, AgreementAnswer>> = {
  x25519: {
    secret: '88b419ddc82d57447ea7edcf08a5ca975356ed0b5d7730a0360777c93822fec2',
    ownPublic: '7c7c809be73372bb658dd6ee7e6f70138a1a73b23b35fafdd9135e2af8c0735f',
    public: 'de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f',
    shared: '006473180ea6a062c0dd4a2384693cbf3882126c7cd51f671490b02da3e14011',
    refused: 'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  },
  p256: {
    secret: 'ff4abbebd8fac75134bab816052fc2746c0154289f65ca323c9818e69031c702',
    ownPublic:
      '0470f91baf53ec9efb7d7f97dad861f3ff482e974bf10a7b4a918556b420d3c824b647b0553665c48ef2a47cd99b9c8392a5' +
      'eda6920eb6c2522be0dcd14e3a3359',
    public:
      '04d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf6356fbf3ca366cc23e8157854c13c58d6aac' +
      '23f046ada30f8353e74f33039872ab',
    shared: '00316e526f6738b55a156cef0a29f9e7fd3d4a98dc2880bbd3f7f37c5f593408',
    refused:
      '04d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf6356fbf3ca366cc23e8157854c13c58d6aac' +
      '23f046ada30f8353e74f33039872aa',
  },
  p384: {
    secret: '9043d45cd57a31f09decba409825afbdd7f0dcfe3eb6469dd516756de8e20bda2b0baecd9bb93a9dc63a109d2361bf68',
    ownPublic:
      '043dce51967d85fe89b14156955e85d44b50c1c6d063ce41ca3a5119ff022193bfe982d4706e68cbbfd87e5e1a9915aa7a25' +
      'fab69c51af0da8c72f538280814b4218b0c8897942e21e6841541dcc97c7f5d4e2271ce050002eb3bbcf4cd59f3010',
    public:
      '04e558dbef53eecde3d3fccfc1aea08a89a987475d12fd950d83cfa41732bc509d0d1ac43a0336def96fda41d0774a3571dc' +
      'fbec7aacf3196472169e838430367f66eebe3c6e70c416dd5f0c68759dd1fff83fa40142209dff5eaad96db9e6386c',
    shared: '005d5feb3bff5f23733045158daefcdf55a9dedd95bfd8638746fc35be8e5c58479a0ce64bd70d447dd6c84c2a56502f',
    refused:
      '04e558dbef53eecde3d3fccfc1aea08a89a987475d12fd950d83cfa41732bc509d0d1ac43a0336def96fda41d0774a3571dc' +
      'fbec7aacf3196472169e838430367f66eebe3c6e70c416dd5f0c68759dd1fff83fa40142209dff5eaad96db9e6386d',
  },
  p521: {
    secret:
      '01face7f3a7bd0eaf6405d0986d67616ed391e049fe4f7e08f2a77ba938d90672f76caec6fdba4b1bced71bfcefff49e53b7' +
      'e370717338ce8f7b315c98c7a7342a8c',
    ownPublic:
      '04008d2330a6d73636909dadcffc18294c318433b18a79f0150c7c29eae7782d3bf1fec0e195c4ae445712ca50ea684027e9' +
      'ca5813475edfaff3b9884b30984a81a5070144117c1c1ff1e1eaa9cb18ea937ce83edfc04be6949de11cb78b18490edc3ce7' +
      '8da1fab40eb63d68ded48b3663b977caa83e87f9b912b31b75e7a237929f55e9fc',
    public:
      '0400d0b3975ac4b799f5bea16d5e13e9af971d5e9b984c9f39728b5e5739735a219b97c356436adc6e95bb0352f6be64a6c2' +
      '912d4ef2d0433ced2b6171640012d9460f015c68226383956e3bd066e797b623c27ce0eac2f551a10c2c724d9852077b8722' +
      '0b6536c5c408a1d2aebb8e86d678ae49cb57091f4732296579ab44fcd17f0fc56a',
    shared:
      '00003faa4379f3161f6804141b5621383414e8112b10b22b9eb74e5b3823c43273c4ff54e3c9b7973396c60f406b79597117' +
      'cbfcd60dcb6178d31ebd6d1832f0e7c6',
    refused:
      '0400d0b3975ac4b799f5bea16d5e13e9af971d5e9b984c9f39728b5e5739735a219b97c356436adc6e95bb0352f6be64a6c2' +
      '912d4ef2d0433ced2b6171640012d9460f015c68226383956e3bd066e797b623c27ce0eac2f551a10c2c724d9852077b8722' +
      '0b6536c5c408a1d2aebb8e86d678ae49cb57091f4732296579ab44fcd17f0fc56b',
  },
};

/** Ed25519 (RFC 8032 §7.1, TEST 3). */
export const ed25519Answer: Readonly<Record<'seed' | 'publicKey' | 'message' | 'signature', string>> = {
  seed: 'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
  publicKey: 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
  message: 'af82',
  signature:
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c' +
    '15e9716ed28dc027beceea1ec40a',
};

/** ECDSA of `sample` (RFC 6979 A.2.5 to A.2.7). */
export const ecdsaAnswers: Readonly<Record<CurveName, Readonly<Record<'scalar' | 'publicKey' | 'signature', string>>>> =
  {
    p256: {
      scalar: 'c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721',
      publicKey:
        '0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb67903fe1008b8bc99a41ae9e95628bc64f2' +
        'f1b20c2d7e9f5177a3c294d4462299',
      signature:
        'efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716f7cb1c942d657c41d436c7a1b6e29f65f3e9' +
        '00dbb9aff4064dc4ab2f843acda8',
    },
    p384: {
      scalar: '6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba9aa47740787137d896d5724e4c70a825f872c9ea60d2edf5',
      publicKey:
        '04ec3a4e415b4e19a4568618029f427fa5da9a8bc4ae92e02e06aae5286b300c64def8f0ea9055866064a254515480bc1380' +
        '15d9b72d7d57244ea8ef9ac0c621896708a59367f9dfb9f54ca84b3f1c9db1288b231c3ae0d4fe7344fd2533264720',
      signature:
        '94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa73d64c4ea95ad133c81a648152e44acf96e36dd1e80fabe4699ef' +
        '4aeb15f178cea1fe40db2603138f130e740a19624526203b6351d0a3a94fa329c145786e679e7b82c71a38628ac8',
    },
    p521: {
      scalar:
        '00fad06daa62ba3b25d2fb40133da757205de67f5bb0018fee8c86e1b68c7e75caa896eb32f1f47c70855836a6d16fcc1466' +
        'f6d8fbec67db89ec0c08b0e996b83538',
      publicKey:
        '0401894550d0785932e00eaa23b694f213f8c3121f86dc97a04e5a7167db4e5bcd371123d46e45db6b5d5370a7f20fb63315' +
        '5d38ffa16d2bd761dcac474b9a2f5023a400493101c962cd4d2fddf782285e64584139c2f91b47f87ff82354d6630f746a28' +
        'a0db25741b5b34a828008b22acc23f924faafbd4d33f81ea66956dfeaa2bfdfcf5',
      signature:
        '00c328fafcbd79dd77850370c46325d987cb525569fb63c5d3bc53950e6d4c5f174e25a1ee9017b5d450606add152b534931' +
        'd7d4e8455cc91f9b15bf05ec36e377fa00617cce7cf5064806c467f678d3b4080d6f1cc50af26ca209417308281b68af2826' +
        '23eaa63e5b5c0723d8b8c37ff0777b1a20f8ccb1dccc43997f1ee0e44da4a67a',
    },
  };

/** RSASSA-PKCS1-v1_5 with a key of 1024 bits: signatures of the message, as OpenSSL makes them. */
export const rsaKey: Readonly<
  Record<'modulus' | 'exponent' | 'privateExponent' | 'prime1' | 'prime2' | 'coefficient', string>
> = {
  modulus:
    'af51af6ef9e02840ed841042d70b5489764f7c6f3a67a488644cb18a5b837de6f4896ff458020a5cb049e262548294ffc9a7' +
    '93d6ade8ac9d1bf0f3fabee6622dc2b1f1c6551e4ae822ed2c40698327e114d180aae8f86dad8e7a3cc8650e72ffefb96c82' +
    'b41ec5ef53d4724a4671e80eef509f1daf1cc6f966b3fc61bcb5d957',
  exponent: '010001',
  privateExponent:
    '1061e5aecd12b130400193336bbcd74d710cc467f06136f2b7cca2da76eab69d1a44ad7d7babd5240c251b4e6cef36d52016' +
    'd4adbeda7b26c331a4dacd73e1c09554ef96735b30e3e352a3d4629746a287f8b08b57ea59f712fe4dd4632f4d6162a87b17' +
    'f077c2a0d247480a6aff5f2ba654a4183b0c7407a161d7a475a0c601',
  prime1:
    'd4d9566cbf0d2e8a73ae895db49a4a893b824419c3358ac98116f3ec174502f8627e680cbf51ab2770b3973299a5c5b94410' +
    '63914d5a9cde220d35753e642a17',
  prime2:
    'd2dc94dab79b8d1aca8fc4dec277c75cec6775eb4147bd8b0e555f2781a29efcae6d71215da7afe89f675268facf6340df3d' +
    'ca4f62bbae88bb7a16c121f792c1',
  coefficient:
    'afc7eeda8c9a1649d2106b61f6358d24e1bf42801da995070311ff8ca3ae5bafd4ca68a951048482f1c5eb2fb40ce6fb9ebc' +
    'da08c1339fd4f6979c8257c33e24',
};
export const rsaMessage: string = 'The quick brown fox jumps over the lazy dog';
export const rsaSignatures: Readonly<Record<HashName, string>> = {
  sha1:
    '3d7da04290dc5cee968383c80adf280e9eb031fbf873031f26c26bbc6c21cbdd0fc2f14e26b2276f5e5bea129fe92b7edcf6' +
    'c9a71fed82c424bc34f60afa13d12105d503aa0988911b83d44347e71b309fe0eedd0ff3fa7f368f67d35f0a3d4b7cfa9b6a' +
    '9c0a736a5ca82224a13430917303efffd4dcf584920c9e6464ab9379',
  sha256:
    '29cce962efb40df5dc3e2918ed590b8c8b68ac59108af3d105646263ef4415b792d222b8752b27c7d3a726b2bc6f66b5d69f' +
    '203dd761df625b68d4080c3106230107129eb6814e9402338000d5b3c4b1a82ec723bf7e93a56e3f476d31d121c69a411aa1' +
    '489b8d6e3a13899158d4c933167673519efc832aae5a964799db14a4',
  sha384:
    '40f1dd15fddc83d1c63c980dc6b9c255b3e3026e3bc8b79fde4f76d8e4c1b55637fd7f46ed10efa724ffab53de402f4f5ed3' +
    'bb0599f3b877c28c25fb954273f5b0a148d22ff31a468f994ad2b69e8f587917034fa702996ef226ca23b3ba6d421eccbf64' +
    'b573913bba011b05750fc9f7c724e3ee0302193d09638f82c3e7baa4',
  sha512:
    '3f59137720adc065485f8af34a80a9b80f6e389f0ed9c11e5598eddb1a26d7503d7e06e1353a7a4488d9df8ba21f84157f2f' +
    'e886dce521c08307f9d8b37aa5c9b682b2ee89b15d9d0f4c4fbb3d81e0777b20103c939acdd62e0eda6d018e76c1c5da51ed' +
    '521e9aca960013b648064fa70b1b67d2177ef5825e638b665557522b',
};
