"""Deal tendency, complexity and Monte Carlo equivalents (Wang Zhengfei, thesis, Peking University 2020)."""
