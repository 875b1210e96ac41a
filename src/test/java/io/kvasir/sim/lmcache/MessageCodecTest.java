package io.kvasir.sim.lmcache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.sim.lmcache.ControllerMessage.Command;
import io.kvasir.sim.lmcache.ControllerMessage.Kind;
import io.kvasir.sim.lmcache.ControllerMessage.Operation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The bytes are what LMCache 0.5.6's own message classes give with msgspec. */
final class MessageCodecTest {
  private static final HexFormat HEX = HexFormat.of();

  static List<Arguments> golden() {
    return List.of(
        Arguments.of(
            new ControllerMessage.Register("i1", 0, "10.0.0.1", 8001, null),
            "86a474797065ab52656769737465724d7367ab696e7374616e63655f6964a26931a9776f726b65725f696400a26970a8"
                + "31302e302e302e31a4706f7274cd1f41ad706565725f696e69745f75726cc0"),
        Arguments.of(
            new ControllerMessage.Registered(Map.of("heartbeat_url", "127.0.0.1:8500")),
            "82a474797065ae52656769737465725265744d7367ac65787472615f636f6e66696781ad6865617274626561745f7572"
                + "6cae3132372e302e302e313a38353030"),
        Arguments.of(
            new ControllerMessage.Deregister("i1", 0, "10.0.0.1", 8001),
            "85a474797065ad446552656769737465724d7367ab696e7374616e63655f6964a26931a9776f726b65725f696400a269"
                + "70a831302e302e302e31a4706f7274cd1f41"),
        Arguments.of(
            new ControllerMessage.Operations(
                "i1", 0, "LocalCPUBackend",
                List.of(
                    new Operation(Kind.ADMIT, -3745232253163630700L, 0),
                    new Operation(Kind.EVICT, 3131758554629441992L, 1))),
            "85a474797065b5426174636865644b564f7065726174696f6e4d7367ab696e7374616e63655f6964a26931a9776f726b"
                + "65725f696400a86c6f636174696f6eaf4c6f63616c4350554261636b656e64aa6f7065726174696f6e739283a76f705f"
                + "74797065a561646d6974a36b6579d3cc06431bdcd88f94a77365715f6e756d0083a76f705f74797065a56576696374a3"
                + "6b6579cf2b763dd00afa89c8a77365715f6e756d01"),
        Arguments.of(
            new ControllerMessage.Heartbeat("i1", 0, "10.0.0.1", 8001, null),
            "86a474797065ac4865617274626561744d7367ab696e7374616e63655f6964a26931a9776f726b65725f696400a26970"
                + "a831302e302e302e31a4706f7274cd1f41ad706565725f696e69745f75726cc0"),
        Arguments.of(
            new ControllerMessage.Commands(List.of(new Command(Command.FULL_SYNC, "controller_restart", null))),
            "82a474797065af4865617274626561745265744d7367a8636f6d6d616e64739183ac636f6d6d616e645f74797065a966"
                + "756c6c5f73796e63a6726561736f6eb2636f6e74726f6c6c65725f72657374617274a461726773c0"),
        Arguments.of(
            new ControllerMessage.SyncStart("i1", 0, "LocalCPUBackend", "i1_0_ab", 3, 1),
            "87a474797065b046756c6c53796e6353746172744d7367ab696e7374616e63655f6964a26931a9776f726b65725f6964"
                + "00a86c6f636174696f6eaf4c6f63616c4350554261636b656e64a773796e635f6964a769315f305f6162aa746f74616c"
                + "5f6b65797303ab62617463685f636f756e7401"),
        Arguments.of(
            new ControllerMessage.SyncStarted("i1_0_ab", true, null),
            "84a474797065b346756c6c53796e6353746172745265744d7367a773796e635f6964a769315f305f6162a86163636570"
                + "746564c3a96572726f725f6d7367c0"),
        Arguments.of(
            new ControllerMessage.SyncBatch("i1", 0, "LocalCPUBackend", "i1_0_ab", 0,
                List.of(1L, -2L, 3131758554629441992L)),
            "87a474797065b046756c6c53796e6342617463684d7367ab696e7374616e63655f6964a26931a9776f726b65725f6964"
                + "00a86c6f636174696f6eaf4c6f63616c4350554261636b656e64a773796e635f6964a769315f305f6162a86261746368"
                + "5f696400a46b6579739301fecf2b763dd00afa89c8"),
        Arguments.of(
            new ControllerMessage.SyncEnd("i1", 0, "LocalCPUBackend", "i1_0_ab", 3),
            "86a474797065ae46756c6c53796e63456e644d7367ab696e7374616e63655f6964a26931a9776f726b65725f696400a8"
                + "6c6f636174696f6eaf4c6f63616c4350554261636b656e64a773796e635f6964a769315f305f6162b161637475616c5f"
                + "746f74616c5f6b65797303"),
        Arguments.of(
            new ControllerMessage.SyncQuery("i1", 0, "i1_0_ab"),
            "84a474797065b146756c6c53796e635374617475734d7367ab696e7374616e63655f6964a26931a9776f726b65725f69"
                + "6400a773796e635f6964a769315f305f6162"),
        Arguments.of(
            new ControllerMessage.SyncStatus("i1_0_ab", true, 1.0, true, List.of()),
            "86a474797065b446756c6c53796e635374617475735265744d7367a773796e635f6964a769315f305f6162ab69735f63"
                + "6f6d706c657465c3af676c6f62616c5f70726f6772657373cb3ff0000000000000af63616e5f657869745f667265657a"
                + "65c3af6d697373696e675f6261746368657390"),
        Arguments.of(new ControllerMessage.Failure("no"), "82a474797065a84572726f724d7367a56572726f72a26e6f"));
  }

  @ParameterizedTest
  @MethodSource("golden")
  void message_asLmcacheWritesIt(ControllerMessage message, String hex) throws IOException {
    assertThat(HEX.formatHex(MessageCodec.encode(message))).isEqualTo(hex);
    assertThat(MessageCodec.decode(HEX.parseHex(hex))).isEqualTo(message);
  }

  @Test
  void message_asJson_isReadToo() throws IOException {
    String json = "{\"type\":\"FullSyncStatusMsg\",\"instance_id\":\"i1\",\"worker_id\":2,\"sync_id\":\"s\",\"new\":1}";

    assertThat(MessageCodec.decode(json.getBytes(StandardCharsets.UTF_8)))
        .isEqualTo(new ControllerMessage.SyncQuery("i1", 2, "s"));
  }

  @Test
  void nonsense_isRefused() {
    for (byte[] nonsense : List.of(new byte[0], new byte[] {(byte) 0xc1}, "{\"type\":\"No\"}".getBytes(
        StandardCharsets.UTF_8), HEX.parseHex("81a474797065a24e6f"), HEX.parseHex("92ff"))) {
      assertThatThrownBy(() -> MessageCodec.decode(nonsense)).isInstanceOf(IOException.class);
    }
  }
}
