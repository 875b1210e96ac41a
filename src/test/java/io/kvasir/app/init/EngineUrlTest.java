package io.kvasir.app.init;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.TransferDescription.Role;
import java.net.URI;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class EngineUrlTest {
  @ParameterizedTest
  @ValueSource(strings = {"http://10.0.0.5:8000", "http://10.0.0.5:8000/", "http://10.0.0.5:8000/v1"})
  void rootAndPathOfTheApi_areTheSame(String text) {
    assertThat(EngineUrl.parse(text)).isEqualTo(EngineAddress.of(URI.create("http://10.0.0.5:8000")));
  }

  @Test
  void ipv6() {
    assertThat(EngineUrl.parse("https://[::1]:8000")).isEqualTo(EngineAddress.of(URI.create("https://[::1]:8000")));
  }

  @Test
  void portOfGrpc_isBehindTheUrl_andWrittenSo() {
    EngineAddress address = EngineUrl.parse("http://10.0.0.5:8000/v1,grpc-port=50051");
    assertThat(address).isEqualTo(new EngineAddress(URI.create("http://10.0.0.5:8000"), 50_051));
    assertThat(EngineUrl.parse(address.toString())).isEqualTo(address);
    assertThatThrownBy(() -> EngineUrl.parse("http://a:8000,grpc-port=0")).hasMessageContaining("1 to 65535");
    assertThatThrownBy(() -> EngineUrl.parse("http://a:8000,grpc-port=65536")).hasMessageContaining("1 to 65535");
    assertThatThrownBy(() -> EngineUrl.parse("http://a:8000,grpc=1")).hasMessageContaining("grpc-port=50051");
  }

  @Test
  void role_isBehindTheUrl_andWrittenSo() {
    URI url = URI.create("http://10.0.0.5:8000");
    assertThat(EngineUrl.parse("http://10.0.0.5:8000/v1,role=prefill"))
        .isEqualTo(new EngineAddress(url, null, Role.PREFILL));
    EngineAddress both = EngineUrl.parse("http://10.0.0.5:8000,role=decode,grpc-port=50051");
    assertThat(both).isEqualTo(new EngineAddress(url, 50_051, Role.DECODE));
    assertThat(both).hasToString("http://10.0.0.5:8000,grpc-port=50051,role=decode");
    assertThat(EngineUrl.parse(both.toString())).isEqualTo(both);
    assertThatThrownBy(() -> EngineUrl.parse("http://a:8000,role=both")).hasMessageContaining("prefill or decode");
    assertThatThrownBy(() -> EngineUrl.parse("http://a:8000,role=decode,role=prefill"))
        .hasMessageContaining("role=prefill");
    assertThatThrownBy(() -> EngineUrl.parse("http://a:8000,")).hasMessageContaining("such as http://10.0.0.5:8000");
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
