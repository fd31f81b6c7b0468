"""What ``ddz demo`` does besides talking: a policy trained for a minute, who plays whom, and the report."""
