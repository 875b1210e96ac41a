package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Any bytes give an answer, and a small message never a large one. Seeded: a failure comes again. The long form:
 * {@code -Dkvasir.test.fuzz.rounds=1000000}.
 */
final class EventDecoderFuzzTest {
  private static final int ROUNDS = Integer.getInteger("kvasir.test.fuzz.rounds", 60_000);

  private final EventDecoder decoder = new EventDecoder();
  private final SplittableRandom random = new SplittableRandom(0x6b7661736972L);

  @Test
  void decode_randomBytes() {
    for (int i = 0; i < ROUNDS; i++) {
      byte[] bytes = new byte[random.nextInt(200)];
      random.nextBytes(bytes);
      if (bytes.length > 12 && random.nextBoolean()) {
        // A plausible beginning leads further in.
        System.arraycopy(HexFormat.of().parseHex("93cb41d9acb930200000"), 0, bytes, 0, 10);
        bytes[10] = (byte) (0x90 | random.nextInt(16));
      }
      check(bytes);
    }
  }

  @Test
  void decode_mutatedRecordings() throws IOException {
    List<byte[]> payloads = Recording.events().map(Recording.Message::payload).limit(40).toList();
    for (int i = 0; i < ROUNDS; i++) {
      byte[] bytes = payloads.get(random.nextInt(payloads.size())).clone();
      if (random.nextInt(4) == 0) {
        bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length));
      }
      for (int changes = random.nextInt(4); changes > 0 && bytes.length > 0; changes--) {
        // The first bytes hold the structure: changes there do more.
        int span = random.nextBoolean() ? Math.min(bytes.length, 80) : bytes.length;
        bytes[random.nextInt(span)] = (byte) random.nextInt(256);
      }
      check(bytes);
    }
  }

  @Test
  void decode_hugeLengths_allocateNothing() {
    Stream.of(
            "ddffffffff", "dd7fffffff", "93c0dd7fffffff", "93c091dd7fffffff", "93c091df7fffffff",
            "93c09192ac426c6f636b52656d6f766564dd0000ffff", "93c09192db7fffffff", "93c09195ab426c6f636b53746f726564"
                + "91c67fffffff", "93c09195ab426c6f636b53746f72656490c0dd000fffff", "93c09192ac426c6f636b52656d6f766564"
                + "91c9ffffffff01")
        .map(HexFormat.of()::parseHex)
        .forEach(bytes -> assertThat(check(bytes).intact()).isFalse());
  }

  private DecodedMessage check(byte[] bytes) {
    DecodedMessage decoded = decoder.decode(3, bytes);
    int size = 0;
    for (KvEvent event : decoded.batch().events()) {
      size +=
          switch (event) {
            case KvEvent.Stored stored -> stored.keys().length + stored.tokens().length;
            case KvEvent.Removed removed -> removed.keys().length;
            default -> 1;
          };
    }
    assertThat(size).isLessThanOrEqualTo(bytes.length);
    assertThat(decoded.batch().sequence()).isEqualTo(3);
    return decoded;
  }
}
