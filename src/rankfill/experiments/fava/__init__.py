"""Zeng, Zhu, Liu, Luo, Chen, Zhang: Matrix Factorization with Scale-Invariant Parameters (IJCAI 2015)."""
