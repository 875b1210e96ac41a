/**
 * vLLM's own gRPC ({@code vllm-rs serve --grpc-port}, or {@code VLLM_USE_RUST_FRONTEND=1 vllm serve --grpc-port}), as
 * far as engines are asked by it: {@link io.kvasir.vllm.ControlProtocol}, and beside it the messages, which are
 * generated from {@code src/main/proto/vllm.proto}. The router asks, the simulated engine answers.
 */
@NullMarked
package io.kvasir.vllm;

import org.jspecify.annotations.NullMarked;
