package io.kvasir.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import org.junit.jupiter.api.Test;

final class EngineAddressTest {
  @Test
  void url_hasEventsWhereVllmHasThem() {
    assertThat(EngineAddress.parse("http://h1:8000"))
        .isEqualTo(
            new EngineAddress(URI.create("http://h1:8000"), "tcp://h1:5557", "tcp://h1:5657", false, "both", null));
  }

  @Test
  void fields_replaceWhatIsUsual() {
    EngineAddress address =
        EngineAddress.parse(
            "http://h1:8000,events=6000,replay=none,role=prefill,transfer=vllm-push,bootstrap-port=7,engine-id=e");

    assertThat(address.events()).isEqualTo("tcp://h1:6000");
    assertThat(address.replay()).isNull();
    assertThat(address.named()).isTrue();
    assertThat(address.role()).isEqualTo("prefill");
    assertThat(address.transfer()).isEqualTo(new EngineAddress.Transfer("vllm-push", 7, "e"));
    assertThat(address.name()).isEqualTo("h1:8000");
  }

  @Test
  void nonsense_isRefusedInWords() {
    assertThatThrownBy(() -> EngineAddress.parse("h1:8000")).hasMessageContaining("no engine's address");
    assertThatThrownBy(() -> EngineAddress.parse("http://h1:8000,event=1")).hasMessageContaining("there are");
  }
}
