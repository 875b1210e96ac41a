package io.kvasir.app.init;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class EngineUrlTest {
  @ParameterizedTest
  @ValueSource(strings = {"http://10.0.0.5:8000", "http://10.0.0.5:8000/", "http://10.0.0.5:8000/v1"})
  void rootAndPathOfTheApi_areTheSame(String text) {
    assertThat(EngineUrl.parse(text)).isEqualTo(URI.create("http://10.0.0.5:8000"));
  }

  @Test
  void ipv6() {
    assertThat(EngineUrl.parse("https://[::1]:8000")).isEqualTo(URI.create("https://[::1]:8000"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "10.0.0.5:8000", "localhost:8000", "ftp://a", "http://", "http://a b", "vllm"})
  void whatIsNoUrl_isToldWithAnExample(String text) {
    assertThatThrownBy(() -> EngineUrl.parse(text)).hasMessageContaining("such as http://10.0.0.5:8000");
  }

  @Test
  void whatEnginesDoNotHave_isTold() {
    assertThatThrownBy(() -> EngineUrl.parse("http://a:8000/team/v1")).hasMessageContaining("/team/v1", "proxy");
    assertThatThrownBy(() -> EngineUrl.parse("http://me:secret@a:8000")).hasMessageContaining("leave the rest out");
  }
}
