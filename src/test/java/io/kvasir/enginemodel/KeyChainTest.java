package io.kvasir.enginemodel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HexFormat;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Vectors computed with the libraries vLLM calls: sha256 over cbor2's canonical form. */
final class KeyChainTest {
  private static final int[] FIRST = IntStream.range(0, 16).toArray();
  private static final int[] SECOND = {
    100, 200, 300, 70000, 151644, 872, 198, 9064, 374, 279, 6722, 315, 5616, 30, 151645, (int) 4294967295L
  };

  @Test
  void root_ofSeed_isItsCborDigest() {
    assertThat(KeyChain.root("0"))
        .isEqualTo(
            HexFormat.of().parseHex("4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e"));
  }

  @Test
  void key_ofTwoBlocks_isVllms() {
    KeyChain zero = chain("0", 16, null, null);
    zero.append(FIRST, 0, 16);
    zero.append(SECOND, 0, 16);
    KeyChain fortyTwo = chain("42", 16, null, null);
    fortyTwo.append(FIRST, 0, 16);
    fortyTwo.append(SECOND, 0, 16);

    assertThat(zero.key(0)).isEqualTo(Long.parseUnsignedLong("12687895063098490012"));
    assertThat(zero.key(1)).isEqualTo(Long.parseUnsignedLong("6272994780009982608"));
    assertThat(fortyTwo.key(0)).isEqualTo(Long.parseUnsignedLong("2863503375995570957"));
    assertThat(fortyTwo.key(1)).isEqualTo(Long.parseUnsignedLong("16496159160241820163"));
  }

  @Test
  void key_withExtraKeys_isVllms() {
    assertThat(first(null, null)).isEqualTo(Long.parseUnsignedLong("2164874634404590027"));
    assertThat(first("sql-lora", null)).isEqualTo(Long.parseUnsignedLong("11329364245149159156"));
    assertThat(first(null, "tenant-a")).isEqualTo(Long.parseUnsignedLong("13195198002585232116"));
    assertThat(first("sql-lora", "tenant-a")).isEqualTo(Long.parseUnsignedLong("8969531898610857112"));
  }

  @Test
  void append_tokenByToken_isTheSameChain() {
    KeyChain whole = chain("0", 16, "a", "s");
    whole.append(FIRST, 0, 16);
    whole.append(SECOND, 0, 16);
    KeyChain single = chain("0", 16, "a", "s");
    IntStream.concat(IntStream.of(FIRST), IntStream.of(SECOND)).forEach(single::append);

    assertThat(single.size()).isEqualTo(2);
    assertThat(single.key(1)).isEqualTo(whole.key(1));
  }

  /** With the token after a block among its extra keys, as vLLM 0.33's {@code get_request_block_hasher} has it. */
  @Test
  void key_withLookahead_isVllms_andComesWithTheNextToken() {
    KeyChain plain = new KeyChain(KeyChain.root("0"), 16, null, null, true);
    plain.append(FIRST, 0, 16);
    assertThat(plain.size()).isZero();
    plain.append(SECOND, 0, 16);
    assertThat(plain.size()).isEqualTo(1);
    plain.append(7);
    assertThat(plain.key(0)).isEqualTo(Long.parseUnsignedLong("3705505095153596607"));
    assertThat(plain.key(1)).isEqualTo(Long.parseUnsignedLong("6430275681121692418"));
    KeyChain extra = new KeyChain(KeyChain.root("0"), 16, "sql-lora", "tenant-a", true);
    extra.append(FIRST, 0, 16);
    extra.append(100);
    assertThat(extra.key(0)).isEqualTo(Long.parseUnsignedLong("18404009999960294544"));
  }

  @Test
  void size_withPartOfABlock_countsFullOnesOnly() {
    KeyChain chain = chain("0", 16, null, null);
    chain.append(FIRST, 0, 16);
    chain.append(SECOND, 0, 15);

    assertThat(chain.size()).isEqualTo(1);
  }

  private static long first(@Nullable String lora, @Nullable String salt) {
    KeyChain chain = chain("0", 4, lora, salt);
    chain.append(new int[] {1, 2, 3, 4}, 0, 4);
    return chain.key(0);
  }

  private static KeyChain chain(String seed, int blockSize, @Nullable String lora, @Nullable String salt) {
    return new KeyChain(KeyChain.root(seed), blockSize, lora, salt, false);
  }
}
